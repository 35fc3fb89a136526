// SPDX-License-Identifier: 0BSD
// Tensors whose shapes are types, for the typed header of a bundle: a wrong type, rank or fixed
// size does not compile.
//
//   ortc_rt::tensor_view<const float, ortc_rt::any, 3, 224, 224> x(pixels, batch);   // sizes of
//   the free dims in order ortc_rt::tensor_view<float, ortc_rt::any, 1000> y(logits, batch); if
//   (net.run(x, y) != ORTC_OK) puts(net.error());
//
// A view owns nothing and checks nothing at run time but that a free dim meets a fixed one; works
// without exceptions, RTTI and heap.
#ifndef ORTC_TYPED_HPP
#define ORTC_TYPED_HPP

#include "ortc/ortc.h"

namespace ortc_rt {
inline namespace typed1 { // not the bundle's: views of one bundle are passed to another

constexpr int64_t any = -1; // a size that is known at run time

// Elements of 16 bits and less that C++ has no type for.
struct float16 {
  uint16_t bits;
};
struct bfloat16 {
  uint16_t bits;
};
struct float8e4m3fn {
  uint8_t bits;
};
struct float8e4m3fnuz {
  uint8_t bits;
};
struct float8e5m2 {
  uint8_t bits;
};
struct float8e5m2fnuz {
  uint8_t bits;
};
struct float8e8m0 {
  uint8_t bits;
};
struct complex64 {
  float re, im;
};
struct complex128 {
  double re, im;
};

template <class T> struct dtype_of; // no such element type
template <class T> struct dtype_of<const T> : dtype_of<T> {};
#define ORTC_TYPED_ELEMENT(T, code)                                                                \
  template <> struct dtype_of<T> {                                                                 \
    static constexpr ortc_dtype value = code;                                                      \
  };
ORTC_TYPED_ELEMENT(float, ORTC_FLOAT)
ORTC_TYPED_ELEMENT(double, ORTC_DOUBLE)
ORTC_TYPED_ELEMENT(bool, ORTC_BOOL)
ORTC_TYPED_ELEMENT(int8_t, ORTC_INT8)
ORTC_TYPED_ELEMENT(int16_t, ORTC_INT16)
ORTC_TYPED_ELEMENT(int32_t, ORTC_INT32)
ORTC_TYPED_ELEMENT(int64_t, ORTC_INT64)
ORTC_TYPED_ELEMENT(uint8_t, ORTC_UINT8)
ORTC_TYPED_ELEMENT(uint16_t, ORTC_UINT16)
ORTC_TYPED_ELEMENT(uint32_t, ORTC_UINT32)
ORTC_TYPED_ELEMENT(uint64_t, ORTC_UINT64)
ORTC_TYPED_ELEMENT(ortc_string, ORTC_STRING)
ORTC_TYPED_ELEMENT(float16, ORTC_FLOAT16)
ORTC_TYPED_ELEMENT(bfloat16, ORTC_BFLOAT16)
ORTC_TYPED_ELEMENT(float8e4m3fn, ORTC_FLOAT8E4M3FN)
ORTC_TYPED_ELEMENT(float8e4m3fnuz, ORTC_FLOAT8E4M3FNUZ)
ORTC_TYPED_ELEMENT(float8e5m2, ORTC_FLOAT8E5M2)
ORTC_TYPED_ELEMENT(float8e5m2fnuz, ORTC_FLOAT8E5M2FNUZ)
ORTC_TYPED_ELEMENT(float8e8m0, ORTC_FLOAT8E8M0)
ORTC_TYPED_ELEMENT(complex64, ORTC_COMPLEX64)
ORTC_TYPED_ELEMENT(complex128, ORTC_COMPLEX128)
#undef ORTC_TYPED_ELEMENT

namespace typed_detail {
template <bool> struct when {};
template <> struct when<true> {
  using type = int;
};
template <class A, class B> struct same {
  static constexpr bool value = false;
};
template <class A> struct same<A, A> {
  static constexpr bool value = true;
};

constexpr int count_any() {
  return 0;
}
template <class... D> constexpr int count_any(int64_t first, D... rest) {
  return (first == any) + count_any(rest...);
}

// A view of shape From may become one of shape To: same rank, and no two different fixed sizes.
template <class From, class To> struct fits {
  static constexpr bool value = false;
};
} // namespace typed_detail

template <int64_t... D> struct shape {
  static constexpr int rank = int(sizeof...(D));
  static constexpr int free =
      typed_detail::count_any(D...); // how many sizes are known at run time only
};

namespace typed_detail {
template <> struct fits<shape<>, shape<>> {
  static constexpr bool value = true;
};
template <int64_t A, int64_t... As, int64_t B, int64_t... Bs>
struct fits<shape<A, As...>, shape<B, Bs...>> {
  static constexpr bool value =
      (A == B || A == any || B == any) && fits<shape<As...>, shape<Bs...>>::value;
};
} // namespace typed_detail

template <class T, int64_t... D> class tensor_view {
public:
  using element = T;
  using shape_type = shape<D...>;
  static constexpr int rank = shape_type::rank;

  // The sizes of the free dims, in order: as many as there are.
  template <class... Sizes,
            typename typed_detail::when<sizeof...(Sizes) == size_t(shape_type::free)>::type = 0>
  explicit tensor_view(T* data, Sizes... sizes) : data_(data) {
    const int64_t given[sizeof...(Sizes) + 1] = {int64_t(sizes)..., 0};
    int next = 0;
    for (int i = 0; i < rank; ++i)
      dims_[i] = kDims[i] == any ? given[next++] : kDims[i];
  }

  // An array of the right number of elements.
  template <size_t N> static tensor_view of(T (&array)[N]) {
    static_assert(shape_type::free == 0, "a tensor of free size needs its sizes");
    static_assert(N == size_t(elements()),
                  "the array has another number of elements than the tensor");
    return tensor_view(static_cast<T*>(array));
  }

  // From a view of the same rank whose fixed sizes do not contradict ours, also T* to const T*.
  template <
      class U, int64_t... E,
      typename typed_detail::when<(typed_detail::same<const U, const T>::value &&
                                   typed_detail::fits<shape<E...>, shape<D...>>::value)>::type = 0>
  tensor_view(const tensor_view<U, E...>& other) : data_(other.data()), wrong_(other.wrong()) {
    for (int i = 0; i < rank; ++i) {
      dims_[i] = other.dim(i);
      wrong_ = wrong_ || (kDims[i] != any && kDims[i] != dims_[i]);
    }
  }

  T* data() const { return data_; }
  int64_t dim(int i) const { return dims_[i]; }
  int64_t size() const {
    int64_t n = 1;
    for (int i = 0; i < rank; ++i)
      n *= dims_[i];
    return n;
  }
  // A size known at run time only met a fixed one and differed: run answers ORTC_INVALID_ARGUMENT.
  bool wrong() const { return wrong_; }

  // The record of the C interface; it refers to this view, which must outlive it.
  ortc_tensor tensor(ortc_space space = ORTC_HOST) {
    ortc_tensor t = {};
    t.data = const_cast<void*>(static_cast<const void*>(data_));
    t.dims = dims_;
    t.capacity = uint64_t(size()) * sizeof(T);
    t.rank = rank;
    t.dtype = dtype_of<T>::value;
    t.space = space;
    return t;
  }

private:
  static constexpr int64_t kDims[sizeof...(D) + 1] = {D..., 0};
  static constexpr int64_t elements() {
    int64_t n = 1;
    for (int i = 0; i < rank; ++i)
      n *= kDims[i];
    return n;
  }

  T* data_;
  int64_t dims_[sizeof...(D) + 1] = {};
  bool wrong_ = false;
};

// The context of one bundle, owned: what the typed header of a bundle derives from.
class typed_model {
public:
  explicit typed_model(const ortc_model& model, const ortc_options* options = nullptr)
      : model_(&model) {
    status_ = model.create(options, &context_);
  }
  ~typed_model() {
    if (context_) model_->destroy(context_);
  }
  typed_model(typed_model&& other) noexcept
      : model_(other.model_), context_(other.context_), status_(other.status_) {
    other.context_ = nullptr;
  }
  typed_model(const typed_model&) = delete;
  typed_model& operator=(const typed_model&) = delete;
  typed_model& operator=(typed_model&&) = delete;

  // Of create: look here before the first run.
  ortc_status status() const { return status_; }
  const char* error() const {
    return context_ ? model_->error(context_) : ortc_status_name(status_);
  }
  ortc_context* context() const { return context_; }

protected:
  ortc_status run_tensors(const ortc_tensor* inputs, ortc_tensor* outputs) {
    if (status_ != ORTC_OK) return status_;
    return model_->run(context_, inputs, outputs);
  }

private:
  const ortc_model* model_;
  ortc_context* context_ = nullptr;
  ortc_status status_;
};

} // namespace typed1
} // namespace ortc_rt
#endif
