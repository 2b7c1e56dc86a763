// gnomon from C (C99; C++ may include it as well): attention with the encodings of a spec, such as "rope(pairing=halves)+alibi",
// its gradients, decoding with a key cache, what position does alone, and what a model's file makes of position.
//
//   Link with gnomon_core (pkg-config gnomon-core, or find_package(gnomon COMPONENTS core) and gnomon::core);
//   gnomon_explain() alone is in gnomon_lab (gnomon-lab, gnomon::lab).
//
// Errors. Every function that can fail returns a status; where it is not GNOMON_OK, nothing was returned through pointers, and
// gnomon_last_error() says in words what was found and what is allowed. A null pointer is GNOMON_USAGE where it is not said what
// null means. No C++ exception leaves a function. A thread must not be cancelled inside one.
//
// Texts. `const char*` is lent: it lives as long as the object that it was asked of, and belongs to it. `char*` is given: the
// caller ends it by gnomon_text_free(). All are UTF-8 and end with 0.
//
// Arrays that the caller passes are the caller's, and are read or written during the call only; what a gnomon_saved refers to
// is said at gnomon_forward(). That an array is as large as its comment says is the caller's duty.
//
// Threads. A gnomon_attention never changes: any number of threads may use one. A gnomon_cache is for one thread at a time. A
// gnomon_saved may be used by several, if their gradients go to different arrays. Objects may be freed in any order. After a
// fork() the child may go on with every object that no other thread was using: its calls give the same bits, on one thread
// where gnomon is built with OpenMP (gnomon_get_threads() says so).
//
// Versions. A struct that begins with `size` may grow at its end in later versions; its initialiser (GNOMON_..._INIT) sets
// `size` to what the caller was compiled with, and the rest to what is usual. The other structs never change. Functions and
// numbers of enums are never changed or removed while GNOMON_ABI_VERSION stays the same.
//
// Letters: B sequences, T tokens, H heads. A token's place is a position: a whole number, or a fraction where an encoding
// takes one.
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
  GNOMON_USAGE = 2,     // an argument, a spec or a configuration that cannot be
  GNOMON_INPUT = 3,     // a file whose content is malformed or unsupported
  GNOMON_RESOURCE = 4,  // memory, a file system or a limit of the system that said no
  GNOMON_BUSY = 5,      // something that another process is writing
  GNOMON_BUG = 70,      // an error of gnomon itself
  GNOMON_LOST = 75      // another process of a common work is gone
} gnomon_status;

// "0.1.0", of the library that is linked. Never fails.
GNOMON_API const char* gnomon_version(void);
// GNOMON_ABI_VERSION of the library that is linked: compare it with that of the header. Never fails.
GNOMON_API int gnomon_abi_version(void);
// "usage", "resource" ...; "unknown" for a number that is no status. Never fails.
GNOMON_API const char* gnomon_status_name(gnomon_status status);
// What went wrong in the last call of this thread that failed; "" if none did. It stays until another call of this thread
// fails. Calls of other threads do not change it. Never fails.
GNOMON_API const char* gnomon_last_error(void);
// Ends a text that was given. Null is nothing to do.
GNOMON_API void gnomon_text_free(char* text);

// Threads on which the calling thread's calls run, itself among them: at first as many as the machine has, or OpenMP's
// environment says. Each thread has a number of its own. Results have the same bits whatever it is. Fewer than 1 is
// GNOMON_USAGE; GNOMON_RESOURCE: the system refuses so many.
GNOMON_API gnomon_status gnomon_set_threads(int threads);
GNOMON_API gnomon_status gnomon_get_threads(int* threads);

// --- Numbers in memory

typedef enum gnomon_number { GNOMON_FLOAT32 = 0, GNOMON_BFLOAT16 = 1, GNOMON_FLOAT16 = 2 } gnomon_number;

// B sequences × heads × tokens × channels, anywhere in memory: number (b,h,t,c) is steps·(b,h,t,c) numbers after the first.
// Steps are not negative. What is only read is not written, although `data` is no pointer to const.
typedef struct gnomon_view {
  void* data;
  int64_t number;  // gnomon_number
  int64_t extents[4], steps[4];
} gnomon_view;
// Views of dense arrays (B,heads,tokens,channels), and (B,tokens,heads,channels), which is how a projection leaves them.
// extents: B, heads, tokens, channels in both. They check nothing: the call that reads the view does. Never fail.
GNOMON_API gnomon_view gnomon_heads_first(const void* data, gnomon_number number, const int64_t extents[4]);
GNOMON_API gnomon_view gnomon_tokens_first(const void* data, gnomon_number number, const int64_t extents[4]);

// Numbers of pairs of query and key: those of (b,h,query) start batch·b + head·h + query·i numbers after `data`, one for each
// key. A step of 0 shares them. Null data: absent.
typedef struct gnomon_pairs {
  void* data;
  int64_t batch, head, query;
} gnomon_pairs;

// Where tokens stand.
typedef struct gnomon_places {
  size_t size;
  // (rows, tokens, axes), within ±2^53. Null: 0, 1, 2 … in one row of `tokens`, on one axis.
  const double* positions;
  int64_t rows;  // 1 for all sequences, or B
  int64_t tokens;
  int64_t axes;              // coordinates of a token, 1 to 4
  const int32_t* documents;  // (rows, tokens): tokens see only those of the same document. Null: one
  const uint8_t* padding;    // (rows, tokens): 1 = no token. Null: none
} gnomon_places;
#define GNOMON_PLACES_INIT \
  { sizeof(gnomon_places), NULL, 1, 0, 1, NULL, NULL }

// --- Attention with position

typedef struct gnomon_attention gnomon_attention;

typedef struct gnomon_attention_config {
  size_t size;
  int64_t heads;  // of q
  int64_t
      kv_heads;  // of k and v, a divisor of heads; 0 = heads. Query head h reads head h / (heads/kv_heads)
  int64_t head_dim;   // channels of q and k
  int64_t value_dim;  // channels of v; 0 = head_dim
  int64_t width;      // of the layer's input, for encodings that read it; 0 = heads·head_dim
  int64_t length;     // tokens of a training window, which some encodings are made for
  double scale;       // of q·k; 0 = 1/√head_dim
  float soft_cap;     // of logits, c·tanh(s/c); 0 = none
  int32_t causal;     // 1: a query sees no key after it; 0: it sees all
} gnomon_attention_config;
#define GNOMON_ATTENTION_CONFIG_INIT \
  { sizeof(gnomon_attention_config), 0, 0, 0, 0, 0, 2048, 0.0, 0.0f, 1 }

// Attention with what the spec says, of encodings that act inside attention (docs/encodings.md lists them). The caller frees
// it. GNOMON_USAGE: a text that is no spec (the message says where, what exists and the nearest name), parts that do not act
// inside attention, sizes that do not fit.
GNOMON_API gnomon_status gnomon_attention_create(const char* spec, const gnomon_attention_config* config,
                                                 gnomon_attention** attention);
// Null is nothing to do. Nobody may be using it.
GNOMON_API void gnomon_attention_free(gnomon_attention* attention);

// The spec in its one canonical form. Lent by the attention.
GNOMON_API gnomon_status gnomon_attention_spec(const gnomon_attention* attention, const char** spec);

// How many encodings act, and the name of each, in the order of the spec, from 0 on. Lent by the attention.
GNOMON_API gnomon_status gnomon_attention_encodings(const gnomon_attention* attention, int64_t* count);
GNOMON_API gnomon_status gnomon_attention_encoding(const gnomon_attention* attention, int64_t index,
                                                   const char** name);
// The angular frequencies of encoding `index`, in radians a token, one for each pair of channels that it turns, of contexts
// up to the configured length; count is 0 where it has none. `frequencies` has room for `capacity` numbers; GNOMON_USAGE where
// that are too few. Null: they are only counted.
GNOMON_API gnomon_status gnomon_attention_frequencies(const gnomon_attention* attention, int64_t index,
                                                      double* frequencies, int64_t capacity, int64_t* count);

// The learned parameters of all encodings: so many arrays, of so many numbers together, which stand one after the other.
// Many specs have none: 0 and 0.
GNOMON_API gnomon_status gnomon_attention_parameters(const gnomon_attention* attention, int64_t* arrays,
                                                     int64_t* numbers);
typedef struct gnomon_parameter {
  size_t size;
  const char* name;        // "0.bias": of encoding 0. Lent by the attention
  const int64_t* extents;  // lent as well
  int64_t dimensions;
  int64_t offset, count;  // numbers before it, and its own
} gnomon_parameter;
#define GNOMON_PARAMETER_INIT \
  { sizeof(gnomon_parameter), NULL, NULL, 0, 0, 0 }
GNOMON_API gnomon_status gnomon_attention_parameter(const gnomon_attention* attention, int64_t index,
                                                    gnomon_parameter* parameter);
// How they start, drawn by a seed: writes `count` numbers, which must be as many as there are.
GNOMON_API gnomon_status gnomon_attention_initial(const gnomon_attention* attention, uint64_t seed,
                                                  float* parameters, int64_t count);

// What a layer projects q and k with: (heads·head_dim, width) twice, then their biases (heads·head_dim). For encodings that
// read it (TUPE, DeBERTa, Transformer-XL); all null for the others.
typedef struct gnomon_projections {
  float *q, *k, *q_bias, *k_bias;
} gnomon_projections;

#define GNOMON_LAST_QUERIES INT64_MIN

// What attention is asked. Keys are tokens, and queries are tokens among them. B, queries and keys may be 0.
typedef struct gnomon_attention_input {
  size_t size;
  // (B,heads,queries,head_dim), (B,kv_heads,keys,head_dim), (B,kv_heads,keys,value_dim)
  gnomon_view q, k, v;
  const gnomon_places*
      places;  // where the keys stand. Null: 0, 1, 2 …; in gnomon_decode() after the cached ones
  const float* parameters;  // as many as there are, in their order
  int64_t parameter_count;
  int64_t first;  // the place of query 0 among the keys; GNOMON_LAST_QUERIES: the queries are the last ones
  const int64_t* firsts;   // (B): the same for each sequence; not with rotations. Null: `first`
  int64_t left, right;     // a query sees so many tokens before and after it; −1: all
  const uint8_t* padding;  // (B,keys): 1 = nobody sees this key. Null: none
  gnomon_pairs bias;       // float, added to logits after the soft-cap; −INFINITY hides a key
  gnomon_pairs mask;       // uint8_t: 0 hides a key
  const float* sinks;      // (heads): one more logit each, of no value. Null: none
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

// What gnomon_forward() keeps for gnomon_backward().
typedef struct gnomon_saved gnomon_saved;

// out (B,heads,queries,value_dim), of any number type, is written; GNOMON_USAGE where it overlaps what is read. Arithmetic is float32;
// rows in sixteen bits are widened once, and results rounded once. `saved`: null where no gradient is wanted, else the caller
// frees what is returned. It refers to the arrays of `in` and out, which must stay as they are until the last
// gnomon_backward(); `in`, its places and its projections themselves are copied. GNOMON_USAGE: views and arrays that do not
// fit, each named.
GNOMON_API gnomon_status gnomon_forward(const gnomon_attention* attention, const gnomon_attention_input* in,
                                        const gnomon_view* out, gnomon_saved** saved);

// Where gradients go. What is not given, dq, dk and dv apart, is not computed.
typedef struct gnomon_attention_gradients {
  size_t size;
  gnomon_view dq, dk, dv;  // of the shapes of q, k, v; overwritten
  float* dparameters;      // added to
  int64_t dparameter_count;
  gnomon_view dx;                   // of the shape of x; overwritten
  gnomon_projections dprojections;  // added to; all four or none
  gnomon_pairs dbias;               // float, added to: a step of 0 sums over what it shares
  float* dsinks;                    // (heads), added to
} gnomon_attention_gradients;
#define GNOMON_ATTENTION_GRADIENTS_INIT                                                                \
  {                                                                                                    \
    sizeof(gnomon_attention_gradients), GNOMON_VIEW_NONE, GNOMON_VIEW_NONE, GNOMON_VIEW_NONE, NULL, 0, \
        GNOMON_VIEW_NONE, {NULL, NULL, NULL, NULL}, {NULL, 0, 0, 0}, NULL                              \
  }

// From the gradient of out, of its shape, to those of what gnomon_forward() read. May be called several times. GNOMON_USAGE
// where gradients overlap each other or what is read.
GNOMON_API gnomon_status gnomon_backward(const gnomon_saved* saved, const gnomon_view* dout,
                                         const gnomon_attention_gradients* gradients);
GNOMON_API void gnomon_saved_free(gnomon_saved* saved);

// --- Decoding

// Keys and values of B sequences, in float32, as attention reads them. All memory is taken when it is made.
typedef struct gnomon_cache gnomon_cache;

// For `capacity` tokens of each of B sequences. window: a query sees so many keys, its own among them, and the cache is a ring
// that overwrites the oldest; 0 = all. The caller frees it. GNOMON_USAGE: attention that is not causal, encodings whose keys
// change as the context grows (the message names them), extents below 1; GNOMON_RESOURCE: no memory.
GNOMON_API gnomon_status gnomon_cache_create(const gnomon_attention* attention, int64_t B, int64_t capacity,
                                             int64_t window, gnomon_cache** cache);
GNOMON_API void gnomon_cache_free(gnomon_cache* cache);
// Tokens of sequence b that are stored, and the most of any sequence.
GNOMON_API gnomon_status gnomon_cache_length(const gnomon_cache* cache, int64_t b, int64_t* length);
GNOMON_API gnomon_status gnomon_cache_keys(const gnomon_cache* cache, int64_t* keys);
// Where the j-th oldest stored token of sequence b stands.
GNOMON_API gnomon_status gnomon_cache_position(const gnomon_cache* cache, int64_t b, int64_t j,
                                               double* position);

// n new tokens of each sequence, one or many: in->q (B,heads,n,head_dim), k and v of as many. They are appended, and each
// sees what is cached before it and itself; out (B,heads,n,value_dim) is written. in->places are theirs, and may not come
// before the cached ones; null: they follow. in->bias and mask count keys from the oldest stored one; first, firsts, left and
// right are not given. GNOMON_USAGE: views that do not fit, an out that overlaps them, a cache that was made for another spec or of
// another shape, no room; the cache stays as it was. GNOMON_RESOURCE, no memory, may leave the tokens there: ask gnomon_cache_length().
GNOMON_API gnomon_status gnomon_decode(const gnomon_attention* attention, const gnomon_attention_input* in,
                                       gnomon_cache* cache, const gnomon_view* out);

// --- What position does alone, for those whose attention is their own

// Tokens at their places, and the parameters that act on them.
typedef struct gnomon_scene {
  size_t size;
  const gnomon_places* places;
  const float* parameters;
  int64_t parameter_count;
} gnomon_scene;
#define GNOMON_SCENE_INIT \
  { sizeof(gnomon_scene), NULL, NULL, 0 }

// Whose rows.
typedef enum gnomon_role { GNOMON_Q = 1, GNOMON_K = 2, GNOMON_V = 4, GNOMON_OUT = 8 } gnomon_role;

// Channels that the encodings append to rows of q and k (PoPE, ReRoPE ...); 0 for most, and for the other roles.
GNOMON_API gnomon_status gnomon_added_channels(const gnomon_attention* attention, gnomon_role role,
                                               int64_t* channels);

// Does to rows of q, k, v or of what attention returned, in place, what attention with this spec does to them: rotates them.
// rows (B, heads or kv_heads, tokens, head_dim or value_dim, and the channels that the encoding appends, which are
// overwritten); `tokens` are those of scene->places. Where frequencies follow the context (dynamic NTK), the context ends with
// the last of these tokens. GNOMON_USAGE: an encoding that reads the content of the layer.
GNOMON_API gnomon_status gnomon_rotate(const gnomon_attention* attention, const gnomon_scene* scene,
                                       gnomon_role role, const gnomon_view* rows);

typedef struct gnomon_rotate_gradients {
  size_t size;
  gnomon_view
      rows;  // as gnomon_rotate() found them; null data where nothing is learned (else the message asks for them)
  gnomon_view
      d;  // comes in as the gradient of what it left, leaves as that of what it found. Of the shape of rows
  float* dparameters;  // added to; null: not computed
  int64_t dparameter_count;
} gnomon_rotate_gradients;
#define GNOMON_ROTATE_GRADIENTS_INIT \
  { sizeof(gnomon_rotate_gradients), GNOMON_VIEW_NONE, GNOMON_VIEW_NONE, NULL, 0 }
GNOMON_API gnomon_status gnomon_rotate_backward(const gnomon_attention* attention, const gnomon_scene* scene,
                                                gnomon_role role, const gnomon_rotate_gradients* gradients);

// table (heads, queries, tokens of the scene): what the encodings add to the logit of query i and key j whatever their
// content is, in float32; −INFINITY where the query does not see the key: causal, documents, padding, windows. The queries are
// those from place `first` among the tokens on. One row of places. GNOMON_USAGE: an encoding whose part of the logits depends
// on content (cross terms, CoPE ...), so that no such table is.
GNOMON_API gnomon_status gnomon_bias_table(const gnomon_attention* attention, const gnomon_scene* scene,
                                           int64_t first, int64_t queries, float* table);

// What position does to tokens at these places, in words, a line for each stage. The text is given.
GNOMON_API gnomon_status gnomon_plan_text(const gnomon_attention* attention, const gnomon_scene* scene,
                                          char** text);

// --- A model's file. In gnomon_lab.

// What a config.json, a folder that holds one, or a .gguf file makes of position in each layer, every number with its key and
// rule, as JSON in one line: what `gnomon explain --json` prints. reader: "v5", "v4" (transformers), "llama.cpp", "vllm",
// "vllm-0.24", "naive"; null: llama.cpp for GGUF, else v5. The text is given. GNOMON_USAGE: no such reader; GNOMON_INPUT: a file that
// cannot be read so; GNOMON_RESOURCE: no such file.
GNOMON_API gnomon_status gnomon_explain(const char* path, const char* reader, char** json);

#ifdef __cplusplus
}
#endif

#endif
