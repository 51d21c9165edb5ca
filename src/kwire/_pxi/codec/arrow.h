/* The arrays and streams that we export through the Arrow C Data Interface; their release functions need no Python.
 *
 * An array owns references to blocks and one allocation for its pointers. It may be released on any thread, with or
 * without the GIL, long after the module's objects are gone. Children live in their parent's allocation and may be
 * moved out of it, as the specification allows.
 * Source: "The Arrow C data interface", "The Arrow C stream interface".
 */
#ifndef KWIRE_ARROW_H
#define KWIRE_ARROW_H

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "arrow_abi.h"
#include "blocks.h"

#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE
struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *out);
    int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *out);
    const char *(*get_last_error)(struct ArrowArrayStream *);
    void (*release)(struct ArrowArrayStream *);
    void *private_data;
};
#endif

static void kw_schema_release(struct ArrowSchema *schema) {
    for (int64_t i = 0; i < schema->n_children; i++)
        if (schema->children[i]->release != NULL) schema->children[i]->release(schema->children[i]);
    free(schema->private_data);
    schema->release = NULL;
}

/* A field with room for its children, which the caller initialises in turn; -1 without memory. */
static int kw_schema_init(struct ArrowSchema *schema, const char *format, const char *name, int64_t flags,
                          int64_t n_children) {
    size_t pointers = (size_t)n_children * sizeof(struct ArrowSchema *);
    size_t children = (size_t)n_children * sizeof(struct ArrowSchema);
    size_t format_size = strlen(format) + 1, name_size = strlen(name) + 1;
    char *memory = (char *)calloc(1, children + pointers + format_size + name_size);
    memset(schema, 0, sizeof *schema);
    if (memory == NULL) return -1;
    schema->children = (struct ArrowSchema **)(memory + children);
    for (int64_t i = 0; i < n_children; i++) schema->children[i] = (struct ArrowSchema *)memory + i;
    schema->format = memcpy(memory + children + pointers, format, format_size);
    schema->name = memcpy(memory + children + pointers + format_size, name, name_size);
    schema->flags = flags;
    schema->n_children = n_children;
    schema->private_data = memory;
    schema->release = kw_schema_release;
    return 0;
}

static int kw_schema_copy(struct ArrowSchema *out, const struct ArrowSchema *from) {
    if (kw_schema_init(out, from->format, from->name, from->flags, from->n_children) < 0) return -1;
    for (int64_t i = 0; i < from->n_children; i++)
        if (kw_schema_copy(out->children[i], from->children[i]) < 0) {
            kw_schema_release(out);
            return -1;
        }
    return 0;
}

typedef struct {
    int64_t block_count;
    int64_t block_room;
    kw_block **blocks;
} kw_array_holder;

static void kw_array_release(struct ArrowArray *array) {
    kw_array_holder *holder = (kw_array_holder *)array->private_data;
    for (int64_t i = 0; i < array->n_children; i++)
        if (array->children[i]->release != NULL) array->children[i]->release(array->children[i]);
    for (int64_t i = 0; i < holder->block_count; i++) kw_block_release(holder->blocks[i]);
    free(holder);
    array->release = NULL;
}

/* An array with empty places for its buffers, children and the blocks that it will hold; -1 without memory. */
static int kw_array_init(struct ArrowArray *array, int64_t length, int64_t n_buffers, int64_t n_children,
                         int64_t max_blocks) {
    size_t children = (size_t)n_children * sizeof(struct ArrowArray);
    size_t places = (size_t)(n_buffers + n_children + max_blocks) * sizeof(void *);
    char *memory = (char *)calloc(1, sizeof(kw_array_holder) + children + places);
    kw_array_holder *holder = (kw_array_holder *)memory;
    struct ArrowArray *child;
    memset(array, 0, sizeof *array);
    if (memory == NULL) return -1;
    child = (struct ArrowArray *)(memory + sizeof(kw_array_holder));
    array->buffers = (const void **)(memory + sizeof(kw_array_holder) + children);
    array->children = (struct ArrowArray **)(array->buffers + n_buffers);
    for (int64_t i = 0; i < n_children; i++) array->children[i] = child + i;
    holder->blocks = (kw_block **)(array->children + n_children);
    holder->block_room = max_blocks;
    array->length = length;
    array->n_buffers = n_buffers;
    array->n_children = n_children;
    array->private_data = holder;
    array->release = kw_array_release;
    return 0;
}

/* The array takes over one reference to `block`. */
static inline void kw_array_hold(struct ArrowArray *array, kw_block *block) {
    kw_array_holder *holder = (kw_array_holder *)array->private_data;
    if (holder->block_count < holder->block_room) holder->blocks[holder->block_count++] = block;
}

typedef struct {
    struct ArrowSchema schema;
    int64_t count;
    int64_t next;
    struct ArrowArray *arrays;
} kw_stream_holder;

static int kw_stream_get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out) {
    kw_stream_holder *holder = (kw_stream_holder *)stream->private_data;
    return kw_schema_copy(out, &holder->schema) < 0 ? ENOMEM : 0;
}

static int kw_stream_get_next(struct ArrowArrayStream *stream, struct ArrowArray *out) {
    kw_stream_holder *holder = (kw_stream_holder *)stream->private_data;
    if (holder->next >= holder->count) {
        memset(out, 0, sizeof *out);
        return 0;
    }
    *out = holder->arrays[holder->next];
    holder->arrays[holder->next++].release = NULL;
    return 0;
}

static const char *kw_stream_last_error(struct ArrowArrayStream *stream) {
    (void)stream;
    return NULL;
}

static void kw_stream_release(struct ArrowArrayStream *stream) {
    kw_stream_holder *holder = (kw_stream_holder *)stream->private_data;
    for (int64_t i = 0; i < holder->count; i++)
        if (holder->arrays[i].release != NULL) holder->arrays[i].release(&holder->arrays[i]);
    if (holder->schema.release != NULL) holder->schema.release(&holder->schema);
    free(holder->arrays);
    free(holder);
    stream->release = NULL;
}

/* A stream without arrays yet; -1 without memory. */
static int kw_stream_init(struct ArrowArrayStream *stream) {
    memset(stream, 0, sizeof *stream);
    stream->private_data = calloc(1, sizeof(kw_stream_holder));
    if (stream->private_data == NULL) return -1;
    stream->get_schema = kw_stream_get_schema;
    stream->get_next = kw_stream_get_next;
    stream->get_last_error = kw_stream_last_error;
    stream->release = kw_stream_release;
    return 0;
}

/* The stream takes over `array`; -1 without memory, and then it does not. */
static int kw_stream_push(struct ArrowArrayStream *stream, struct ArrowArray *array) {
    kw_stream_holder *holder = (kw_stream_holder *)stream->private_data;
    struct ArrowArray *grown = (struct ArrowArray *)realloc(
        holder->arrays, (size_t)(holder->count + 1) * sizeof(struct ArrowArray));
    if (grown == NULL) return -1;
    holder->arrays = grown;
    holder->arrays[holder->count++] = *array;
    return 0;
}

static inline struct ArrowSchema *kw_stream_schema(struct ArrowArrayStream *stream) {
    return &((kw_stream_holder *)stream->private_data)->schema;
}

#endif
