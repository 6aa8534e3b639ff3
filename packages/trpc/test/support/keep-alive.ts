/**
 * Options of a server. With the default of 5 s, a client on a busy machine could send a request on a
 * connection that the server closes at that moment.
 */
export const KEEP_ALIVE = { keepAliveTimeout: 600_000 } as const
