/* SPDX-License-Identifier: 0BSD
 *
 * Runs one bundle on one set of inputs and writes the outputs: the program that `firmware.sh build`
 * links around a bundle. In the emulator's working directory it reads request.txt, one line for
 * each input,
 *
 *     DTYPE RANK DIM DIM ...      numbers as in ortc.h; the data is in input_I.bin
 *     -                           an absent optional
 *
 * and writes output_J.bin and response.txt:
 *
 *     status 0                    of create, reserve or run
 *     error TEXT                  when the context has one
 *     output J DTYPE RANK DIM ... for each output of a good run
 *     stack USED SIZE             bytes
 *
 * Exit code: 0 when a response was written, whatever its status; 98 when the request makes no
 * sense. -DORTC_MODEL=NAME_model names the bundle, -DORTC_IO_BYTES=N is the memory for inputs and
 * outputs together; it lies in a region of its own and counts neither as the bundle's flash nor as
 * its RAM.
 */
#include "firmware.h"
#include "ortc/ortc.h"

#ifndef ORTC_IO_BYTES
#define ORTC_IO_BYTES 4096
#endif
#ifdef ORTC_SMALL_CASE /* a board with 16 KiB of RAM */
enum { MAX_TENSORS = 4, MAX_RANK = 6, MAX_DIMS = 4, MAX_REQUEST = 256 };
#else
enum { MAX_TENSORS = 32, MAX_RANK = 8, MAX_DIMS = 16, MAX_REQUEST = 2048 };
#endif

extern const ortc_model* ORTC_MODEL(void);

__attribute__((section(".io"), aligned(16))) static char io[ORTC_IO_BYTES];
static size_t io_used;
static char request[MAX_REQUEST];
static ortc_tensor inputs[MAX_TENSORS], outputs[MAX_TENSORS];
static int64_t input_dims[MAX_TENSORS][MAX_RANK], output_dims[MAX_TENSORS][MAX_RANK];
static intptr_t response;

__attribute__((noreturn)) static void give_up(const char* why) {
  fw_print("case: ");
  fw_print(why);
  fw_print("\n");
  fw_exit(98);
}

static void* take(uint64_t bytes) {
  const uint64_t rounded = (bytes + 15) / 16 * 16;
  if (rounded > ORTC_IO_BYTES - io_used)
    give_up("ORTC_IO_BYTES is too small for the inputs and outputs");
  void* p = io + io_used;
  io_used += (size_t)rounded;
  return p;
}

static uint64_t bytes_of(ortc_dtype dtype, const int64_t* dims, int32_t rank) {
  uint64_t bits, count = 1;
  switch (dtype) {
  case ORTC_UINT4:
  case ORTC_INT4:
  case ORTC_FLOAT4E2M1: bits = 4; break;
  case ORTC_FLOAT:
  case ORTC_INT32:
  case ORTC_UINT32: bits = 32; break;
  case ORTC_DOUBLE:
  case ORTC_INT64:
  case ORTC_UINT64:
  case ORTC_COMPLEX64: bits = 64; break;
  case ORTC_COMPLEX128: bits = 128; break;
  case ORTC_FLOAT16:
  case ORTC_BFLOAT16:
  case ORTC_INT16:
  case ORTC_UINT16: bits = 16; break;
  case ORTC_STRING:
  case ORTC_LIST:
  case ORTC_MAP: give_up("firmware has no strings, lists or maps");
  default: bits = 8; break;
  }
  for (int32_t i = 0; i < rank; ++i)
    count *= (uint64_t)dims[i];
  return (count * bits + 7) / 8;
}

static const char* number(const char* p, int64_t* value) {
  int64_t v = 0;
  while (*p == ' ')
    ++p;
  if (*p < '0' || *p > '9') give_up("request.txt: a number is missing");
  while (*p >= '0' && *p <= '9')
    v = 10 * v + (*p++ - '0');
  *value = v;
  return p;
}

static void file_name(char* name, const char* stem, int index) {
  while (*stem)
    *name++ = *stem++;
  if (index >= 10) *name++ = (char)('0' + index / 10);
  *name++ = (char)('0' + index % 10);
  for (const char* p = ".bin"; *p; ++p)
    *name++ = *p;
  *name = 0;
}

static void read_inputs(const ortc_model* model) {
  const intptr_t file = fw_open("request.txt", 0);
  if (file == -1) give_up("there is no request.txt");
  const size_t bytes = fw_read(file, request, MAX_REQUEST - 1);
  fw_close(file);
  if (bytes == MAX_REQUEST - 1) give_up("request.txt is too long");
  const char* p = request;
  for (int i = 0; i < model->num_inputs; ++i) {
    while (*p == ' ' || *p == '\n')
      ++p;
    ortc_tensor* t = &inputs[i];
    t->dims = input_dims[i];
    if (*p == '-') {
      ++p;
      t->rank = -1;
      continue;
    }
    int64_t dtype, rank;
    p = number(p, &dtype);
    p = number(p, &rank);
    if (rank > MAX_RANK) give_up("request.txt: the rank is too high");
    for (int64_t d = 0; d < rank; ++d)
      p = number(p, &t->dims[d]);
    t->rank = (int32_t)rank;
    t->dtype = (ortc_dtype)dtype;
    t->capacity = bytes_of(t->dtype, t->dims, t->rank);
    t->data = take(t->capacity);
    char name[24];
    file_name(name, "input_", i);
    const intptr_t data = fw_open(name, 0);
    if (data == -1) give_up("an input_I.bin is missing");
    if ((uint64_t)fw_size(data) != t->capacity)
      give_up("an input_I.bin has not the size that its shape says");
    if (fw_read(data, t->data, (size_t)t->capacity) != t->capacity)
      give_up("an input_I.bin cannot be read");
    fw_close(data);
  }
}

/* Every output gets room for what it can be at most. */
static void make_outputs(const ortc_model* model, const int64_t* most) {
  for (int i = 0; i < model->num_outputs; ++i) {
    const ortc_io* o = &model->outputs[i];
    ortc_tensor* t = &outputs[i];
    uint64_t bytes = model->output_bound ? model->output_bound(i, most) : 0;
    if (o->rank > MAX_RANK) give_up("an output of too high rank");
    if (bytes == 0) {
      int64_t dims[MAX_RANK];
      for (int32_t d = 0; d < o->rank; ++d) {
        if (o->shape[d] == ORTC_COMPUTED) give_up("an output without a bound");
        dims[d] = o->shape[d] >= 0 ? o->shape[d] : most[~o->shape[d]];
      }
      bytes = bytes_of(o->dtype, dims, o->rank);
    }
    t->dims = output_dims[i];
    t->rank = o->rank;
    t->dtype = o->dtype;
    t->capacity = bytes;
    t->data = take(bytes);
  }
}

static void say(const char* text) {
  size_t n = 0;
  while (text[n])
    ++n;
  fw_write(response, text, n);
}

static void say_number(int64_t value) {
  char digits[24];
  int at = sizeof digits - 1;
  uint64_t left = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
  digits[at] = 0;
  do {
    digits[--at] = (char)('0' + left % 10);
    left /= 10;
  } while (left);
  if (value < 0) digits[--at] = '-';
  say(" ");
  say(digits + at);
}

int main(void) {
  const ortc_model* model = ORTC_MODEL();
  int64_t most[MAX_DIMS];
  ortc_context* context = 0;
  if (model->num_inputs > MAX_TENSORS || model->num_outputs > MAX_TENSORS ||
      model->num_dims > MAX_DIMS)
    give_up("too many inputs, outputs or dimensions for this program");
  for (int i = 0; i < model->num_dims; ++i)
    most[i] = model->dims[i].max;
  read_inputs(model);
  make_outputs(model, most);

  ortc_status status = model->create(0, &context);
  if (status == ORTC_OK && model->num_dims) status = model->reserve(context, most);
  if (status == ORTC_OK) status = model->run(context, inputs, outputs);
  const size_t stack = fw_stack_used();

  response = fw_open("response.txt", 1);
  if (response == -1) give_up("response.txt cannot be written");
  say("status");
  say_number(status);
  const char* why = context && model->error ? model->error(context) : "";
  if (why && *why) {
    say("\nerror ");
    say(why);
  }
  for (int i = 0; status == ORTC_OK && i < model->num_outputs; ++i) {
    const ortc_tensor* t = &outputs[i];
    say("\noutput");
    say_number(i);
    say_number(t->dtype);
    say_number(t->rank);
    for (int32_t d = 0; d < t->rank; ++d)
      say_number(t->dims[d]);
    char name[24];
    file_name(name, "output_", i);
    const intptr_t file = fw_open(name, 1);
    const uint64_t bytes = t->rank < 0 ? 0 : bytes_of(t->dtype, t->dims, t->rank);
    if (file == -1 || fw_write(file, t->data, (size_t)bytes) != bytes)
      give_up("an output_J.bin cannot be written");
    fw_close(file);
  }
  say("\nstack");
  say_number((int64_t)stack);
  say_number((int64_t)fw_stack_size());
  say("\n");
  fw_close(response);
  model->destroy(context);
  if (stack == fw_stack_size()) give_up("the stack overflowed");
  return 0;
}
