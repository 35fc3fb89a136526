// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/BundleInterface.h"
#include "compiler/support/DType.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

namespace ortc::driver {

std::string readBytes(const std::string& path) {
  auto buffer =
      llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  return buffer ? (*buffer)->getBuffer().str() : std::string();
}

std::optional<BundleInterface> readBundleInterface(const std::string& folder) {
  llvm::Expected<llvm::json::Value> json = llvm::json::parse(readBytes(folder + "/manifest.json"));
  if (!json) {
    llvm::consumeError(json.takeError());
    return std::nullopt;
  }
  const llvm::json::Object& o = *json->getAsObject();
  BundleInterface r;
  if (auto* dims = o.getArray("dims"))
    for (const llvm::json::Value& v : *dims)
      if (auto most = v.getAsObject()->getInteger("max"))
        r.most[v.getAsObject()->getString("name")->str()] = *most;
  auto read = [&](const char* key, std::vector<onnx::ValueInfo>& into) {
    for (const llvm::json::Value& v : *o.getArray(key)) {
      const llvm::json::Object& one = *v.getAsObject();
      onnx::ValueInfo info;
      info.name = one.getString("name")->str();
      info.type.kind = onnx::Type::Kind::Tensor;
      info.type.dtype = dtypeFromName(one.getString("type")->str()).value_or(DType::Undefined);
      info.type.shape.emplace();
      std::vector<int64_t> sizes;
      for (const llvm::json::Value& d : *one.getArray("dims")) {
        onnx::Dim dim;
        if (auto n = d.getAsInteger())
          dim.value = *n;
        else if (auto name = d.getAsString())
          dim.param = name->str();
        sizes.push_back(dim.value ? *dim.value : r.most.count(dim.param) ? r.most[dim.param] : 1);
        info.type.shape->push_back(dim);
      }
      r.bytes += byteSize(info.type.dtype, elementCount(sizes).value_or(0)).value_or(0) + 32;
      into.push_back(std::move(info));
    }
  };
  read("inputs", r.graph.inputs);
  read("outputs", r.graph.outputs);
  auto strings = [&](const char* key, std::vector<std::string>& into) {
    if (auto* list = o.getArray(key))
      for (const llvm::json::Value& v : *list)
        into.push_back(v.getAsString().value_or("").str());
  };
  strings("sources", r.sources);
  strings("compile_options", r.options);
  strings("include_dirs", r.includes);
  strings("private_include_dirs", r.includes);
  return r;
}

} // namespace ortc::driver
