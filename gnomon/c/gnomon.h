// gnomon from C (C99, also valid C++): attention with the encodings of a spec, such as "rope(pairing=halves)+alibi", its
// gradients, decoding with a key cache, rotations and bias tables alone, and what a model's file computes from positions.
//
//   Link with gnomon_core (pkg-config gnomon-core, or find_package(gnomon COMPONENTS core) and gnomon::core).
//   What reads a model's file (gnomon_explain(), gnomon_model_...) is in gnomon_lab (gnomon-lab, gnomon::lab).
//   A release also has libgnomon, which is all of this header in one library that needs no other.
//
// Errors. Every function that can fail returns a status. If it is not GNOMON_OK, the function has returned nothing
// through pointers. gnomon_last_error() then says what was found and what is allowed. A null pointer is GNOMON_USAGE, unless its
// comment gives null a meaning. No C++ exception leaves a function. Do not cancel a thread inside a function.
//
// Texts are UTF-8 and end with 0. A `const char*` belongs to the object that returned it and lives as long as that object. A
// `char*` belongs to the caller, who frees it with gnomon_text_free().
//
// Arrays belong to the caller. A call reads or writes them only until it returns, except that a gnomon_saved keeps pointers
// (see gnomon_forward()). The caller must make each array as large as its comment says.
//
// Threads. A gnomon_attention never changes: any number of threads may share it. Only one thread at a time may use a
// gnomon_cache. Several threads may use a gnomon_saved if their gradients go to different arrays. Objects may be freed in any
// order. After fork(), the child may use every object that no other thread was using at that moment. Its calls give the same
// bits. If gnomon is built with OpenMP, they run on one thread (see gnomon_get_threads()).
//
// Versions. A struct that begins with `size` may grow at its end in later versions. Its initialiser (GNOMON_..._INIT) sets
// `size` to the size at compile time and the other members to defaults. The other structs never change. No function or enum
// value is changed or removed while GNOMON_ABI_VERSION stays the same.
//
// Letters: B sequences, T tokens, H heads. The place of a token is its position: a whole number, or a fraction if the encoding
// allows fractions.
#ifndef GNOMON_H
#define GNOMON_H

#include <stddef.h>
#include <stdint.h>

#ifdef __GNUC__
#define GNOMON_API __attribute__((visibility("default")))
#else
#define GNOMON_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

// --- The library, errors, texts

#define GNOMON_ABI_VERSION 1

typedef enum gnomon_status {
  GNOMON_OK = 0,
  GNOMON_USAGE = 2,     // An impossible argument, spec or configuration.
  GNOMON_INPUT = 3,     // A file with malformed or unsupported content.
  GNOMON_RESOURCE = 4,  // Memory, the file system or a system limit refused.
  GNOMON_BUSY = 5,      // Another process is writing it.
  GNOMON_BUG = 70,      // An error in gnomon itself.
  GNOMON_LOST = 75      // Another process of the same job is gone.
} gnomon_status;

// The version of the linked library, such as "0.1.0". Never fails.
GNOMON_API const char* gnomon_version(void);
// GNOMON_ABI_VERSION of the linked library: compare it with GNOMON_ABI_VERSION of this header. Never fails.
GNOMON_API int gnomon_abi_version(void);
// The name of a status: "usage", "resource" ...; "unknown" for any other number. Never fails.
GNOMON_API const char* gnomon_status_name(gnomon_status status);
// The message of the last failed call of this thread; "" if no call has failed. It stays until another call of this thread
// fails. Calls of other threads do not change it. Never fails.
GNOMON_API const char* gnomon_last_error(void);
// Frees a text that belongs to the caller. Null: does nothing.
GNOMON_API void gnomon_text_free(char* text);

// The number of threads for calls of the calling thread, including itself. It starts as the number of threads of the machine, or
// as OpenMP's environment says. Each calling thread has its own number. Results have the same bits for every number.
// GNOMON_USAGE: fewer than 1 thread. GNOMON_RESOURCE: the system refuses so many threads.
GNOMON_API gnomon_status gnomon_set_threads(int threads);
GNOMON_API gnomon_status gnomon_get_threads(int* threads);

// --- Numbers in memory

typedef enum gnomon_number { GNOMON_FLOAT32 = 0, GNOMON_BFLOAT16 = 1, GNOMON_FLOAT16 = 2 } gnomon_number;

// An array of B sequences × heads × tokens × channels, anywhere in memory: number (b,h,t,c) is steps·(b,h,t,c) numbers after
// the first. Steps are 0 or more. gnomon does not write to its inputs, although `data` is not a pointer to const.
typedef struct gnomon_view {
  void* data;
  int64_t number;  // gnomon_number
  int64_t extents[4], steps[4];
} gnomon_view;
// Views of dense arrays: heads_first for (B,heads,tokens,channels), tokens_first for (B,tokens,heads,channels), the layout after
// a projection. extents: B, heads, tokens, channels in both. They check nothing: the call that reads the view does. Never fail.
GNOMON_API gnomon_view gnomon_heads_first(const void* data, gnomon_number number, const int64_t extents[4]);
GNOMON_API gnomon_view gnomon_tokens_first(const void* data, gnomon_number number, const int64_t extents[4]);

// One number for each pair of query and key. The row of query i in head h of sequence b starts batch·b + head·h + query·i
// numbers after `data` and has one number per key. A step of 0 shares rows. Null data: absent.
typedef struct gnomon_pairs {
  void* data;
  int64_t batch, head, query;
} gnomon_pairs;

// The positions of tokens.
typedef struct gnomon_places {
  size_t size;
  // (rows, tokens, axes), within ±2^53. Null: 0, 1, 2 … in one row of `tokens`, on one axis.
  const double* positions;
  int64_t rows;  // 1 (shared by all sequences), or B
  int64_t tokens;
  int64_t axes;              // coordinates per token, 1 to 4
  const int32_t* documents;  // (rows, tokens): a token sees only its own document. Null: one document
  const uint8_t* padding;    // (rows, tokens): 1 = padding. Null: no padding
} gnomon_places;
#define GNOMON_PLACES_INIT \
  { sizeof(gnomon_places), NULL, 1, 0, 1, NULL, NULL }

// --- Attention with position

typedef struct gnomon_attention gnomon_attention;

typedef struct gnomon_attention_config {
  size_t size;
  int64_t heads;      // of q
  int64_t kv_heads;   // of k and v, a divisor of heads; 0 = heads. Query head h reads h / (heads/kv_heads)
  int64_t head_dim;   // channels of q and k
  int64_t value_dim;  // channels of v; 0 = head_dim
  int64_t width;      // width of the layer's input, for encodings that read it; 0 = heads·head_dim
  int64_t length;     // training length in tokens, which some encodings need
  double scale;       // factor on q·k; 0 = 1/√head_dim
  float soft_cap;     // soft-cap c of the logits, c·tanh(s/c); 0 = none
  int32_t causal;     // 1: a query sees no key after it; 0: it sees all keys
} gnomon_attention_config;
#define GNOMON_ATTENTION_CONFIG_INIT \
  { sizeof(gnomon_attention_config), 0, 0, 0, 0, 0, 2048, 0.0, 0.0f, 1 }

// Creates attention with the encodings of a spec, which must act inside attention (docs/encodings.md lists them). The caller
// frees it. GNOMON_USAGE: a text that is not a spec (the message names the place, the known names and the nearest one), an
// encoding that does not act inside attention, or sizes that do not fit.
GNOMON_API gnomon_status gnomon_attention_create(const char* spec, const gnomon_attention_config* config,
                                                 gnomon_attention** attention);
// Frees the attention. Null: does nothing. No other call may be using it.
GNOMON_API void gnomon_attention_free(gnomon_attention* attention);

// The spec in its canonical form. It belongs to the attention.
GNOMON_API gnomon_status gnomon_attention_spec(const gnomon_attention* attention, const char** spec);

// The number of encodings, and the name of each by its index from 0, in the order of the spec. The name belongs to the attention.
GNOMON_API gnomon_status gnomon_attention_encodings(const gnomon_attention* attention, int64_t* count);
GNOMON_API gnomon_status gnomon_attention_encoding(const gnomon_attention* attention, int64_t index,
                                                   const char** name);
// The angular frequencies of encoding `index`, in radians per token: one for each pair of channels that it rotates, in contexts
// up to the configured length. If it has none, count is 0. `frequencies` has room for `capacity` numbers. Null: only counts.
// GNOMON_USAGE: `capacity` is too small.
GNOMON_API gnomon_status gnomon_attention_frequencies(const gnomon_attention* attention, int64_t index,
                                                      double* frequencies, int64_t capacity, int64_t* count);

// The learned parameters of all encodings: the number of arrays, and the total number of numbers. The arrays stand one after
// the other. Many specs have no parameters: 0 and 0.
GNOMON_API gnomon_status gnomon_attention_parameters(const gnomon_attention* attention, int64_t* arrays,
                                                     int64_t* numbers);
typedef struct gnomon_parameter {
  size_t size;
  const char* name;        // "0.bias": bias of encoding 0. It belongs to the attention
  const int64_t* extents;  // belong to the attention too
  int64_t dimensions;
  int64_t offset, count;  // numbers before this array, and in it
} gnomon_parameter;
#define GNOMON_PARAMETER_INIT \
  { sizeof(gnomon_parameter), NULL, NULL, 0, 0, 0 }
// Describes array `index` of the parameters. GNOMON_USAGE: no such array.
GNOMON_API gnomon_status gnomon_attention_parameter(const gnomon_attention* attention, int64_t index,
                                                    gnomon_parameter* parameter);
// The initial values of the parameters, drawn with a seed: writes `count` numbers, which must be all of them.
GNOMON_API gnomon_status gnomon_attention_initial(const gnomon_attention* attention, uint64_t seed,
                                                  float* parameters, int64_t count);

// The query and key projections of a layer: weights (heads·head_dim, width) twice, then biases (heads·head_dim) twice. For
// encodings that read them (DeBERTa with projections=shared); all null for the others.
typedef struct gnomon_projections {
  float *q, *k, *q_bias, *k_bias;
} gnomon_projections;

#define GNOMON_LAST_QUERIES INT64_MIN

// The input of attention. The keys are tokens, and the queries are some of these tokens. B, queries and keys may be 0.
typedef struct gnomon_attention_input {
  size_t size;
  // (B,heads,queries,head_dim), (B,kv_heads,keys,head_dim), (B,kv_heads,keys,value_dim)
  gnomon_view q, k, v;
  const gnomon_places* places;  // of the keys. Null: 0, 1, 2 …; in gnomon_decode() after the cached ones
  const float* parameters;      // all parameters, in their order
  int64_t parameter_count;
  int64_t first;  // index of query 0 among the keys; GNOMON_LAST_QUERIES: the queries are the last keys
  const int64_t* firsts;   // (B): `first` of each sequence; not with rotations. Null: `first` for all
  int64_t left, right;     // number of tokens that a query sees before and after it; −1: all
  const uint8_t* padding;  // (B,keys): 1 = no query sees this key. Null: none
  gnomon_pairs bias;       // float, added to logits after the soft-cap; −INFINITY hides a key
  gnomon_pairs mask;       // uint8_t: 0 hides a key
  const float* sinks;      // (heads): one more logit per head, without a value. Null: none
  gnomon_view x;  // (B,1,keys,width), the layer's input, for encodings that read it. Null data: absent
  gnomon_projections projections;
} gnomon_attention_input;
#define GNOMON_VIEW_NONE                               \
  {                                                    \
    NULL, GNOMON_FLOAT32, {0, 0, 0, 0}, { 0, 0, 0, 0 } \
  }
#define GNOMON_ATTENTION_INPUT_INIT                                                                          \
  {                                                                                                          \
    sizeof(gnomon_attention_input), GNOMON_VIEW_NONE, GNOMON_VIEW_NONE, GNOMON_VIEW_NONE, NULL, NULL, 0,     \
        GNOMON_LAST_QUERIES, NULL, -1, -1, NULL, {NULL, 0, 0, 0}, {NULL, 0, 0, 0}, NULL, GNOMON_VIEW_NONE, { \
      NULL, NULL, NULL, NULL                                                                                 \
    }                                                                                                        \
  }

// The state that gnomon_forward() keeps for gnomon_backward().
typedef struct gnomon_saved gnomon_saved;

// Computes attention and writes out (B,heads,queries,value_dim), in any number type. Arithmetic is float32: 16-bit inputs are
// widened once, and results are rounded once. `saved`: null if you need no gradients; otherwise the caller frees it. It keeps
// pointers to the arrays of `in` and to out, which must not change until the last gnomon_backward(). The structs `in`, its
// places and its projections are copied. GNOMON_USAGE: a view or array that does not fit (the message names it), or an out that
// overlaps an input.
GNOMON_API gnomon_status gnomon_forward(const gnomon_attention* attention, const gnomon_attention_input* in,
                                        const gnomon_view* out, gnomon_saved** saved);

// The arrays for gradients. dq, dk and dv are required; the others are computed only if given.
typedef struct gnomon_attention_gradients {
  size_t size;
  gnomon_view dq, dk, dv;  // shapes as q, k, v; overwritten
  float* dparameters;      // added to
  int64_t dparameter_count;
  gnomon_view dx;                   // shape as x; overwritten
  gnomon_projections dprojections;  // added to; all four or none
  gnomon_pairs dbias;               // float, added to; a step of 0 sums over the rows that it shares
  float* dsinks;                    // (heads), added to
} gnomon_attention_gradients;
#define GNOMON_ATTENTION_GRADIENTS_INIT                                                                \
  {                                                                                                    \
    sizeof(gnomon_attention_gradients), GNOMON_VIEW_NONE, GNOMON_VIEW_NONE, GNOMON_VIEW_NONE, NULL, 0, \
        GNOMON_VIEW_NONE, {NULL, NULL, NULL, NULL}, {NULL, 0, 0, 0}, NULL                              \
  }

// Computes the gradients of the inputs of gnomon_forward() from dout, the gradient of out, in the same shape. May be called
// several times. GNOMON_USAGE: gradients that overlap each other or an input.
GNOMON_API gnomon_status gnomon_backward(const gnomon_saved* saved, const gnomon_view* dout,
                                         const gnomon_attention_gradients* gradients);
GNOMON_API void gnomon_saved_free(gnomon_saved* saved);

// --- Decoding

// Keys and values of B sequences, in float32. All memory is allocated at creation.
typedef struct gnomon_cache gnomon_cache;

// Creates a cache for B sequences of up to `capacity` tokens each. With window > 0, a query sees that many keys, including its
// own, and the cache is a ring that overwrites the oldest keys. With window = 0 it sees all keys. The caller frees it.
// GNOMON_USAGE: attention that is not causal, encodings whose keys change as the context grows (the message names them), or
// extents below 1. GNOMON_RESOURCE: not enough memory.
GNOMON_API gnomon_status gnomon_cache_create(const gnomon_attention* attention, int64_t B, int64_t capacity,
                                             int64_t window, gnomon_cache** cache);
GNOMON_API void gnomon_cache_free(gnomon_cache* cache);
// The number of stored tokens of sequence b, and the largest number of any sequence.
GNOMON_API gnomon_status gnomon_cache_length(const gnomon_cache* cache, int64_t b, int64_t* length);
GNOMON_API gnomon_status gnomon_cache_keys(const gnomon_cache* cache, int64_t* keys);
// The position of the j-th oldest stored token of sequence b.
GNOMON_API gnomon_status gnomon_cache_position(const gnomon_cache* cache, int64_t b, int64_t j,
                                               double* position);

// Decodes n new tokens of each sequence, one or many: in->q (B,heads,n,head_dim), k and v with n tokens too. They are appended
// to the cache. Each sees itself and the cached tokens before it. Writes out (B,heads,n,value_dim). in->places: positions of the
// new tokens, not before the cached ones; null: they follow the cached ones. in->x: their inputs, for encodings that read them. in->bias and mask count keys from the oldest stored
// one. Do not set first, firsts, left and right. GNOMON_USAGE: views that do not fit, an out that overlaps them, a cache for
// another spec or shape, or a full cache; the cache is then unchanged. GNOMON_RESOURCE: not enough memory; the tokens may be in
// the cache, see gnomon_cache_length().
GNOMON_API gnomon_status gnomon_decode(const gnomon_attention* attention, const gnomon_attention_input* in,
                                       gnomon_cache* cache, const gnomon_view* out);

// --- Rotations and bias tables, for callers with their own attention

// The positions of tokens, and the parameters of the encodings.
typedef struct gnomon_scene {
  size_t size;
  const gnomon_places* places;
  const float* parameters;
  int64_t parameter_count;
} gnomon_scene;
#define GNOMON_SCENE_INIT \
  { sizeof(gnomon_scene), NULL, NULL, 0 }

// The kind of rows: queries, keys, values, or the output of attention.
typedef enum gnomon_role { GNOMON_Q = 1, GNOMON_K = 2, GNOMON_V = 4, GNOMON_OUT = 8 } gnomon_role;

// The number of channels that the encodings append to rows of q and k (PoPE, ReRoPE ...). 0 for most encodings, and for the
// other roles.
GNOMON_API gnomon_status gnomon_added_channels(const gnomon_attention* attention, gnomon_role role,
                                               int64_t* channels);

// Maps rows of q, k, v or of the output in place, as attention with this spec does: it rotates them. rows (B, heads or kv_heads,
// tokens, head_dim or value_dim plus the appended channels, which are overwritten). `tokens` is the number of scene->places. If
// the frequencies depend on the context (dynamic NTK), the context ends with the last of these tokens. GNOMON_USAGE: an encoding
// that reads the content of the layer.
GNOMON_API gnomon_status gnomon_rotate(const gnomon_attention* attention, const gnomon_scene* scene,
                                       gnomon_role role, const gnomon_view* rows);

typedef struct gnomon_rotate_gradients {
  size_t size;
  // The rows before gnomon_rotate(). Null data is allowed if no parameter is learned; otherwise an error asks for the rows.
  gnomon_view rows;
  // On entry the gradient of the rows after gnomon_rotate(), on return that of the rows before it. Shape as rows.
  gnomon_view d;
  float* dparameters;  // added to; null: not computed
  int64_t dparameter_count;
} gnomon_rotate_gradients;
#define GNOMON_ROTATE_GRADIENTS_INIT \
  { sizeof(gnomon_rotate_gradients), GNOMON_VIEW_NONE, GNOMON_VIEW_NONE, NULL, 0 }
// Computes the gradients of gnomon_rotate().
GNOMON_API gnomon_status gnomon_rotate_backward(const gnomon_attention* attention, const gnomon_scene* scene,
                                                gnomon_role role, const gnomon_rotate_gradients* gradients);

// Writes table (heads, queries, tokens of the scene), float32: what the encodings add to the logit of query i and key j. It is
// −INFINITY if the query does not see the key (causal mask, documents, padding, windows). The queries are the tokens from index
// `first` on. The places have one row. GNOMON_USAGE: an encoding whose bias depends on content (cross terms, CoPE ...): it has
// no such table.
GNOMON_API gnomon_status gnomon_bias_table(const gnomon_attention* attention, const gnomon_scene* scene,
                                           int64_t first, int64_t queries, float* table);

// What attention does with these positions, in words, one line per stage. The caller frees the text.
GNOMON_API gnomon_status gnomon_plan_text(const gnomon_attention* attention, const gnomon_scene* scene,
                                          char** text);

// --- A model's file. In gnomon_lab.

// What each layer of a model computes from positions, as JSON in one line, with the key and rule of every number: the output of
// `gnomon explain --json`. path: a config.json, a folder with one, or a .gguf file. reader: "v5", "v4" (transformers),
// "llama.cpp", "vllm", "vllm-0.24", "sglang", "mlx", "tgi", "naive"; null: llama.cpp for GGUF, otherwise v5. The caller frees the text.
// GNOMON_USAGE: no such reader. GNOMON_INPUT: a file that this reader cannot read. GNOMON_RESOURCE: no such file.
GNOMON_API gnomon_status gnomon_explain(const char* path, const char* reader, char** json);

// The same settings as numbers, for a program that computes with them.
typedef struct gnomon_model gnomon_model;

// Reads a model's file. path, reader and errors as in gnomon_explain(). The caller frees the model.
GNOMON_API gnomon_status gnomon_model_open(const char* path, const char* reader, gnomon_model** model);
// Frees the model. Null: does nothing. Attention that was created with its settings stays.
GNOMON_API void gnomon_model_free(gnomon_model* model);

// The texts belong to the model.
typedef struct gnomon_model_info {
  size_t size;
  const char* family;  // "llama". For an unknown family it is its model_type.
  const char* input;   // The spec of what is added to the words: "add(learned, scale=off)".
  int32_t known;   // 0: the family is unknown, and some settings are guesses. gnomon_explain() names them.
  int64_t layers;  // The number of entries of gnomon_model_layer().
  int64_t width;   // The channels of the residual stream.
  int64_t trained_length;  // In tokens, before any extension. 0: the file does not say.
  int64_t longest;         // The tokens that the file promises. 0: it does not say.
} gnomon_model_info;
#define GNOMON_MODEL_INFO_INIT \
  { sizeof(gnomon_model_info), NULL, NULL, 0, 0, 0, 0, 0 }
GNOMON_API gnomon_status gnomon_model_describe(const gnomon_model* model, gnomon_model_info* info);

typedef struct gnomon_layer_info {
  size_t size;
  const char* spec;  // For gnomon_attention_create(). Its windows are part of it.
  // "": attention. Otherwise the layer has none, and no heads: "linear_attention", "conv" ...
  const char* mixer;
  // "encoder" or "decoder" in a model with both. "indexer": a second attention of a layer. Otherwise "".
  const char* component;
  int64_t number;  // The layer, from 0, in its component.
  int64_t window;  // The tokens that a query sees, for gnomon_cache_create(). 0: all.
} gnomon_layer_info;
#define GNOMON_LAYER_INFO_INIT \
  { sizeof(gnomon_layer_info), NULL, NULL, NULL, 0, 0 }
// Describes entry `index`, from 0. GNOMON_USAGE: no such entry.
GNOMON_API gnomon_status gnomon_model_layer(const gnomon_model* model, int64_t index,
                                            gnomon_layer_info* info);
// Sets the sizes of attention in entry `index`: heads, kv_heads, head_dim, value_dim, width, length (the trained one), scale and
// causal. soft_cap is no setting of position and stays as it is. GNOMON_USAGE: no such entry, or a layer without attention.
GNOMON_API gnomon_status gnomon_model_attention(const gnomon_model* model, int64_t index,
                                                gnomon_attention_config* config);

#ifdef __cplusplus
}
#endif

#endif
