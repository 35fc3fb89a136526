// SPDX-License-Identifier: Apache-2.0
// The generic caller of bundles: everything it knows is in ortc_model. Buffers have a strip of
// known bytes behind them, and inputs are compared with a copy, so that a kernel that writes where
// it must not is found by any test.
#include "compiler/driver/BundleSession.h"
#include "compiler/support/NumberFormats.h"
#include <cstring>

namespace ortc::driver {
namespace {

constexpr size_t kStrip = 64;
constexpr uint8_t kPattern = 0xA5;
constexpr uint64_t kFirstCapacity = uint64_t(64) << 20;

/// A tensor of the interface with the memory behind it.
struct Holder {
  ortc_tensor tensor{};
  std::vector<int64_t> dims;
  std::vector<uint64_t> memory; // of bytes, aligned to 8; starts at the next multiple of 64
  std::vector<ortc_string> strings;
  std::vector<std::unique_ptr<Holder>> parts; // of a list or map
  std::vector<ortc_tensor> records;

  uint8_t* bytes() {
    auto at = reinterpret_cast<uintptr_t>(memory.data());
    return reinterpret_cast<uint8_t*>((at + 63) / 64 * 64);
  }
  void allocate(uint64_t size) {
    memory.assign((size + 64 + kStrip) / 8 + 1, 0);
    std::memset(bytes(), kPattern, size + kStrip);
    tensor.data = bytes();
    tensor.capacity = size;
  }
  bool stripIsWhole() {
    for (size_t i = 0; i < kStrip; ++i)
      if (bytes()[tensor.capacity + i] != kPattern) return false;
    return true;
  }
};

/// The bytes of a tensor at the interface, where types of less than 8 bits take a byte each; cases
/// have them packed.
std::vector<uint8_t> unpacked(const CaseTensor& t) {
  std::vector<uint8_t> bytes(t.bytes.begin(), t.bytes.end());
  if (!isSubByte(t.dtype)) return bytes;
  bytes.resize(static_cast<size_t>(t.elementCount()));
  for (size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<uint8_t>(loadBits(t.bytes.data(), t.dtype, static_cast<int64_t>(i)));
  return bytes;
}

std::unique_ptr<Holder> hold(const CaseValue& value, ortc_dtype declared) {
  auto h = std::make_unique<Holder>();
  ortc_tensor& t = h->tensor;
  if (value.isAbsent()) {
    t.rank = -1;
    t.dtype = declared;
    return h;
  }
  auto setDims = [&](std::vector<int64_t> dims) {
    h->dims = std::move(dims);
    t.rank = static_cast<int32_t>(h->dims.size());
    h->dims.push_back(0); // never a null pointer
    t.dims = h->dims.data();
  };
  if (value.isTensor()) {
    t.dtype = static_cast<ortc_dtype>(value.tensor.dtype);
    setDims(value.tensor.dims);
    if (value.tensor.dtype == DType::String) {
      for (const std::string& s : value.tensor.strings)
        h->strings.push_back({s.data(), s.size()});
      h->strings.push_back({nullptr, 0});
      t.data = h->strings.data();
      t.capacity = value.tensor.strings.size() * sizeof(ortc_string);
    } else {
      const std::vector<uint8_t> bytes = unpacked(value.tensor);
      h->allocate(bytes.size());
      if (!bytes.empty()) std::memcpy(t.data, bytes.data(), bytes.size());
    }
    return h;
  }
  auto add = [&](const CaseValue& part) { h->parts.push_back(hold(part, ORTC_FLOAT)); };
  if (value.kind == CaseValue::Kind::List) {
    t.dtype = ORTC_LIST;
    setDims({static_cast<int64_t>(value.items.size())});
    for (const CaseValue& item : value.items)
      add(item);
  } else {
    t.dtype = ORTC_MAP;
    setDims({2});
    add(value.keys);
    CaseTensor all =
        CaseTensor::zeros(value.items.empty() ? DType::F32 : value.items[0].tensor.dtype,
                          {static_cast<int64_t>(value.items.size())});
    for (size_t i = 0; i < value.items.size(); ++i) {
      const CaseTensor& one = value.items[i].tensor;
      if (all.dtype == DType::String)
        all.strings[i] = one.strings[0];
      else
        std::memcpy(all.bytes.data() + i * one.bytes.size(), one.bytes.data(), one.bytes.size());
    }
    add(all);
  }
  for (auto& part : h->parts)
    h->records.push_back(part->tensor);
  h->records.push_back({});
  t.data = h->records.data();
  t.capacity = (h->records.size() - 1) * sizeof(ortc_tensor);
  return h;
}

/// Copies what a run left.
CaseValue take(const ortc_tensor& t) {
  if (!t.data && t.rank == -1) return {};
  if (t.dtype == ORTC_LIST) {
    std::vector<CaseValue> items;
    for (int64_t i = 0; i < t.dims[0]; ++i)
      items.push_back(take(static_cast<const ortc_tensor*>(t.data)[i]));
    return CaseValue::list(std::move(items));
  }
  if (t.dtype == ORTC_MAP) {
    const auto* parts = static_cast<const ortc_tensor*>(t.data);
    CaseValue keys = take(parts[0]), values = take(parts[1]);
    std::vector<CaseValue> items;
    const size_t width = bitWidth(values.tensor.dtype) / 8;
    for (int64_t i = 0; i < values.tensor.elementCount(); ++i) {
      CaseTensor one = CaseTensor::zeros(values.tensor.dtype, {});
      if (one.dtype == DType::String)
        one.strings[0] = values.tensor.strings[static_cast<size_t>(i)];
      else
        std::memcpy(one.bytes.data(), values.tensor.bytes.data() + static_cast<size_t>(i) * width,
                    width);
      items.push_back(std::move(one));
    }
    return CaseValue::map(std::move(keys.tensor), std::move(items));
  }
  CaseTensor r = CaseTensor::zeros(static_cast<DType>(t.dtype), {t.dims, t.dims + t.rank});
  if (r.dtype == DType::String) {
    const auto* strings = static_cast<const ortc_string*>(t.data);
    for (size_t i = 0; i < r.strings.size(); ++i)
      r.strings[i].assign(strings[i].data ? strings[i].data : "", strings[i].size);
  } else if (isSubByte(r.dtype)) {
    for (int64_t i = 0, n = r.elementCount(); i < n; ++i)
      storeBits(r.bytes.data(), r.dtype, i, static_cast<const uint8_t*>(t.data)[i]);
  } else if (!r.bytes.empty()) {
    std::memcpy(r.bytes.data(), t.data, r.bytes.size());
  }
  return r;
}

class BundleSession final : public Session {
public:
  BundleSession(const ortc_model* model, const onnx::Graph& types, std::shared_ptr<void> keep)
      : model(model), library(std::move(keep)) {
    graph.name = types.name;
    auto describe = [&](const ortc_io& io, const std::vector<onnx::ValueInfo>& infos) {
      onnx::ValueInfo info;
      info.name = io.name;
      for (const onnx::ValueInfo& declared : infos)
        if (declared.name == info.name) info.type = declared.type;
      if (io.dtype == ORTC_LIST || io.dtype == ORTC_MAP ||
          info.type.kind == onnx::Type::Kind::Optional)
        return info;
      info.type.kind = onnx::Type::Kind::Tensor;
      info.type.dtype = static_cast<DType>(io.dtype);
      info.type.shape.emplace();
      for (int32_t i = 0; i < io.rank; ++i) {
        onnx::Dim d;
        if (io.shape[i] >= 0)
          d.value = io.shape[i];
        else if (io.shape[i] != ORTC_COMPUTED)
          d.param = model->dims[~io.shape[i]].name;
        info.type.shape->push_back(d);
      }
      return info;
    };
    for (int32_t i = 0; i < model->num_inputs; ++i)
      graph.inputs.push_back(describe(model->inputs[i], types.inputs));
    for (int32_t i = 0; i < model->num_outputs; ++i)
      graph.outputs.push_back(describe(model->outputs[i], types.outputs));
  }
  ~BundleSession() override {
    if (context) model->destroy(context);
  }

  bool create(int threads, const std::string& weightsPath, Diagnostics& diagnostics) {
    ortc_options options{};
    options.size = sizeof options;
    options.threads = threads;
    options.heap_bytes = uint64_t{64} << 20;
    if (!weightsPath.empty()) options.weights_path = weightsPath.c_str();
    return check(model->create(&options, &context), diagnostics);
  }

  const onnx::Graph& signature() const override { return graph; }

  std::optional<std::vector<CaseValue>> run(const std::vector<CaseValue>& values,
                                            Diagnostics& diagnostics) override {
    if (static_cast<int32_t>(values.size()) != model->num_inputs) {
      diagnostics.error("", "the model has {} inputs, but {} are given", model->num_inputs,
                        values.size());
      return std::nullopt;
    }
    std::vector<std::unique_ptr<Holder>> inputs;
    std::vector<ortc_tensor> in;
    for (size_t i = 0; i < values.size(); ++i) {
      inputs.push_back(hold(values[i], model->inputs[i].dtype));
      in.push_back(inputs.back()->tensor);
    }
    in.push_back({});
    std::vector<int64_t> sizes = bindSizes(in);
    // Wrong sizes are for `run` to refuse, with its better message.
    // With free sizes, too, when the arena has a bound: GPU bundles reserve room for inputs and
    // outputs as well.
    if (!sizes.empty()) {
      ortc_status status = model->reserve(context, sizes.data());
      if (status != ORTC_OK && status != ORTC_INVALID_ARGUMENT && !check(status, diagnostics))
        return std::nullopt;
    } else if (model->arena_bytes == UINT64_MAX &&
               !check(model->reserve(context, nullptr), diagnostics)) {
      return std::nullopt;
    }
    std::vector<std::unique_ptr<Holder>> outputs;
    for (int32_t i = 0; i < model->num_outputs; ++i) {
      auto h = std::make_unique<Holder>();
      const ortc_io& io = model->outputs[i];
      h->dims.assign(static_cast<size_t>(std::max(io.rank, 8)) + 1, 0);
      h->tensor.dims = h->dims.data();
      h->tensor.rank = io.rank;
      h->tensor.dtype = io.dtype;
      if (io.dtype != ORTC_LIST && io.dtype != ORTC_MAP) {
        uint64_t bound = model->output_bound(i, sizes.data());
        // What is said may be far more than it will be: begin with less, then.
        h->allocate(bound ? std::min(bound, kFirstCapacity) : 4096);
      }
      outputs.push_back(std::move(h));
    }
    std::vector<ortc_tensor> out(outputs.size() + 1);
    ortc_status status = ORTC_CAPACITY;
    // Each attempt gets further: to the next output or the next size that data says.
    for (int attempt = 0; attempt < 1000 && status != ORTC_OK; ++attempt) {
      for (size_t i = 0; i < outputs.size(); ++i)
        out[i] = outputs[i]->tensor;
      status = model->run(context, in.data(), out.data());
      if (status == ORTC_NEED_RESERVE && check(model->reserve(context, sizes.data()), diagnostics))
        continue;
      if (status != ORTC_CAPACITY) break;
      // The dims of those that are too small say what is needed.
      for (size_t i = 0; i < outputs.size(); ++i) {
        const ortc_tensor& t = out[i];
        if (t.dtype == ORTC_LIST || t.dtype == ORTC_MAP) continue;
        std::optional<int64_t> count = elementCount({t.dims, t.dims + t.rank});
        if (!count) continue;
        uint64_t bytes =
            t.dtype == ORTC_STRING ? static_cast<uint64_t>(*count) * sizeof(ortc_string)
            : isSubByte(static_cast<DType>(t.dtype))
                ? static_cast<uint64_t>(*count)
                : static_cast<uint64_t>(byteSize(static_cast<DType>(t.dtype), *count).value_or(0));
        if (bytes > t.capacity) outputs[i]->allocate(bytes);
      }
    }
    if (!check(status, diagnostics)) return std::nullopt;
    std::vector<CaseValue> results;
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (!outputs[i]->memory.empty() && out[i].data == outputs[i]->tensor.data &&
          !outputs[i]->stripIsWhole()) {
        diagnostics.error("output " + quoteName(model->outputs[i].name),
                          "was written past its end; this is a fault of ortc");
        return std::nullopt;
      }
      results.push_back(take(out[i]));
    }
    for (size_t i = 0; i < inputs.size(); ++i)
      if (!inputs[i]->memory.empty() &&
          (!inputs[i]->stripIsWhole() ||
           std::memcmp(inputs[i]->bytes(), unpacked(values[i].tensor).data(),
                       unpacked(values[i].tensor).size()) != 0)) {
        diagnostics.error("input " + quoteName(model->inputs[i].name),
                          "was changed by the run; this is a fault of ortc");
        return std::nullopt;
      }
    return results;
  }

private:
  const ortc_model* model;
  std::shared_ptr<void> library;
  ortc_context* context = nullptr;
  onnx::Graph graph;

  bool check(ortc_status status, Diagnostics& diagnostics) {
    if (status == ORTC_OK) return true;
    const char* why = context ? model->error(context) : "";
    diagnostics.error("", "{}{}{}", ortc_status_name(status), why && *why ? ": " : "",
                      why ? why : "");
    return false;
  }

  std::vector<int64_t> bindSizes(const std::vector<ortc_tensor>& in) const {
    std::vector<int64_t> sizes;
    for (int32_t i = 0; i < model->num_dims; ++i)
      sizes.push_back(model->dims[i].min);
    for (int32_t i = 0; i < model->num_inputs; ++i) {
      const ortc_io& io = model->inputs[i];
      for (int32_t d = 0; d < std::min(io.rank, in[static_cast<size_t>(i)].rank); ++d)
        if (io.shape[d] < 0 && io.shape[d] != ORTC_COMPUTED)
          sizes[static_cast<size_t>(~io.shape[d])] = in[static_cast<size_t>(i)].dims[d];
    }
    return sizes;
  }
};

} // namespace

std::unique_ptr<Session> openBundle(const ortc_model* model, const onnx::Graph& types, int threads,
                                    const std::string& weightsPath, std::shared_ptr<void> keep,
                                    Diagnostics& diagnostics) {
  if (model->abi_version != ORTC_ABI_VERSION) {
    diagnostics.error("", "the bundle speaks version {} of the interface, {} is expected",
                      model->abi_version, ORTC_ABI_VERSION);
    return nullptr;
  }
  auto session = std::make_unique<BundleSession>(model, types, std::move(keep));
  if (!session->create(threads, weightsPath, diagnostics)) return nullptr;
  return session;
}

} // namespace ortc::driver
