import type { Counts, Measurements } from '../../events/telemetry.ts'

/** The name of the tracer and the meter. */
export const SCOPE = '@sallyport/core'

export interface Instrument {
  readonly name: string
  readonly unit: string
  readonly description: string
}

export interface Histogram extends Instrument {
  readonly buckets: number[]
}

/** In seconds, from a cached read of SQLite to the timeout of a lookup. */
const DATABASE_BUCKETS = [
  0.00001, 0.000025, 0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25,
  0.5, 1, 2.5, 5,
]

/** In seconds, around the documented limits: 50 ms in a process, 250 ms on other nodes, a lease of 5 s. */
const DELAY_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]

export const COUNTERS: Readonly<Record<keyof Counts | 'rejections', Instrument>> = {
  denials: {
    name: 'sallyport.denials',
    unit: '{denial}',
    description: 'Requests and streams that Step 1, Step 2, or a guard rejected',
  },
  failures: {
    name: 'sallyport.failures',
    unit: '{failure}',
    description: 'Causes of 503s and 500s, and background failures',
  },
  rateLimited: {
    name: 'sallyport.rate_limited',
    unit: '{rejection}',
    description: 'Calls, attempts, and connections over a limit',
  },
  rejections: {
    name: 'sallyport.endpoint.rejections',
    unit: '{rejection}',
    description: 'Calls to auth endpoints that were rejected with a status from 400 to 499',
  },
}

export const HISTOGRAMS: Readonly<Record<keyof Measurements, Histogram>> = {
  lookup: {
    name: 'sallyport.lookup.duration',
    unit: 's',
    description: 'Duration of a session lookup, including time in queues',
    buckets: DATABASE_BUCKETS,
  },
  batch: {
    name: 'sallyport.lookup.batch_size',
    unit: '{lookup}',
    description: 'Lookups per statement or read transaction',
    buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256],
  },
  poolWait: {
    name: 'sallyport.pool.wait_time',
    unit: 's',
    description: 'Wait for a connection from the pool',
    buckets: DATABASE_BUCKETS,
  },
  feedLag: {
    name: 'sallyport.feed.lag',
    unit: 's',
    description: 'Time until this process learns of a change by another process',
    buckets: DELAY_BUCKETS,
  },
  leaseAge: {
    name: 'sallyport.lease.age',
    unit: 's',
    description: 'Age of the lease of a stream when it is renewed',
    buckets: [0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5, 7.5, 10],
  },
  revocationDelay: {
    name: 'sallyport.revocation.delay',
    unit: 's',
    description: 'Time from the announcement of a revocation in this process to the end of a stream',
    buckets: DELAY_BUCKETS,
  },
}

export const OPEN: Readonly<Record<'streams' | 'sockets', Instrument>> = {
  streams: { name: 'sallyport.stream.count', unit: '{stream}', description: 'Open guarded streams' },
  sockets: { name: 'sallyport.socket.count', unit: '{socket}', description: 'Open guarded WebSockets' },
}
