// SPDX-License-Identifier: Apache-2.0
// What MLIR reports while it lives becomes our diagnostics: the name of the location is the node.
#pragma once
#include "compiler/support/Diagnostics.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Location.h"

namespace ortc {

/// MLIR's diagnostics as ours: the location's name is the node, and a note that begins with
/// "help: " says the way out.
class DiagnosticBridge {
public:
  DiagnosticBridge(mlir::MLIRContext& context, Diagnostics& diagnostics)
      : handler(&context, [&diagnostics](mlir::Diagnostic& d) {
          std::string where;
          d.getLocation()->walk([&](mlir::Location l) {
            if (auto name = llvm::dyn_cast<mlir::NameLoc>(l); name && where.empty())
              where = name.getName().str();
            return mlir::WalkResult::advance();
          });
          Severity severity = d.getSeverity() == mlir::DiagnosticSeverity::Error ? Severity::Error
                              : d.getSeverity() == mlir::DiagnosticSeverity::Warning
                                  ? Severity::Warning
                                  : Severity::Remark;
          std::string text = d.str();
          llvm::StringRef message = text;
          // The text of an ortc.check begins with the node: bundles know of no locations.
          if (!where.empty() && message.consume_front(where)) message.consume_front(": ");
          auto& made = diagnostics.report(severity, where, message.str());
          for (mlir::Diagnostic& note : d.getNotes()) {
            std::string text = note.str();
            if (llvm::StringRef rest = text; rest.consume_front("help: "))
              made.help("{}", rest.str());
            else
              made.note("{}", text);
          }
          return mlir::success();
        }) {
    context.printOpOnDiagnostic(false); // pages of IR say nothing to a user
  }

private:
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace ortc
