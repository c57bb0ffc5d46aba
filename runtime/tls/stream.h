/* SPDX-License-Identifier: MIT
 * tls/stream.h: one connection; see struct tls_module for all of it. Private to the module. */
#ifndef ROTA_TLS_STREAM_H
#define ROTA_TLS_STREAM_H
#include "tls/tls.h"

int stream_begin(struct tls *tls, const struct tls_peer *peer, struct tls_stream **ret_stream,
                 struct tls_fault *ret_fault);
int stream_feed(struct tls_stream *s, const void *bytes, size_t size, struct tls_fault *ret_fault);
int stream_shake(struct tls_stream *s, struct tls_fault *ret_fault);
ssize_t stream_read(struct tls_stream *s, void *buffer, size_t size, struct tls_fault *ret_fault);
int stream_write(struct tls_stream *s, const void *bytes, size_t size, struct tls_fault *ret_fault);
void stream_leave(struct tls_stream *s);
size_t stream_take(struct tls_stream *s, void *buffer, size_t size);
void stream_facts(const struct tls_stream *s, struct tls_facts *ret_facts);
void stream_end(struct tls_stream *s);
#endif
