import { type Attributes, createNoopMeter, type Meter, type MeterProvider, metrics } from '@opentelemetry/api'
import { failureCode } from '../../events/failure-code.ts'
import type { Telemetry } from '../../events/telemetry.ts'
import { COUNTERS, HISTOGRAMS, type Histogram, type Instrument, OPEN, SCOPE } from './instruments.ts'
import { withoutErrors } from './without-errors.ts'

export const addToCounter: Telemetry['count'] = (name, attributes) => {
  withoutErrors(() => instruments()?.counters[name].add(1, toAttributes(attributes)))
}

export const recordValue: Telemetry['record'] = (name, value, attributes) => {
  withoutErrors(() => instruments()?.histograms[name].record(value, toAttributes(attributes)))
}

/** For all configurations of this process. */
const open = { streams: 0, sockets: 0 }

export const changeOpen: Telemetry['open'] = (what, change) => {
  open[what] += change
  // Registers the up-down counters.
  withoutErrors(instruments)
}

/** Counts a response of an endpoint with a status from 400 to 499. */
export function countRejection(route: string, code: string): void {
  const attributes = { 'http.route': route, 'sallyport.reason': code }
  withoutErrors(() => instruments()?.counters.rejections.add(1, attributes))
}

let current: { readonly provider: MeterProvider; readonly instruments: Instruments | null } | undefined

/**
 * Returns null without an SDK, so no attributes are built. Checks the provider on every call: an SDK may be
 * registered late, and meters, unlike tracers, don't follow it.
 */
function instruments(): Instruments | null {
  const provider = metrics.getMeterProvider()
  if (current?.provider !== provider) {
    const meter = provider.getMeter(SCOPE)
    current = { provider, instruments: meter === createNoopMeter() ? null : createInstruments(meter) }
  }
  return current.instruments
}

type Instruments = ReturnType<typeof createInstruments>

function createInstruments(meter: Meter) {
  const counter = ({ name, ...options }: Instrument) => meter.createCounter(name, options)
  const histogram = ({ name, buckets, ...options }: Histogram) =>
    meter.createHistogram(name, { ...options, advice: { explicitBucketBoundaries: buckets } })
  for (const what of ['streams', 'sockets'] as const) {
    const { name, ...options } = OPEN[what]
    meter.createObservableUpDownCounter(name, options).addCallback((result) => result.observe(open[what]))
  }
  return {
    counters: {
      denials: counter(COUNTERS.denials),
      failures: counter(COUNTERS.failures),
      rateLimited: counter(COUNTERS.rateLimited),
      rejections: counter(COUNTERS.rejections),
    },
    histograms: {
      lookup: histogram(HISTOGRAMS.lookup),
      batch: histogram(HISTOGRAMS.batch),
      poolWait: histogram(HISTOGRAMS.poolWait),
      feedLag: histogram(HISTOGRAMS.feedLag),
      leaseAge: histogram(HISTOGRAMS.leaseAge),
      revocationDelay: histogram(HISTOGRAMS.revocationDelay),
    },
  }
}

const NAMES: Readonly<Record<string, string>> = {
  reason: 'sallyport.reason',
  step: 'sallyport.step',
  limit: 'sallyport.limit',
  source: 'sallyport.feed.source',
  code: 'error.type',
  system: 'db.system.name',
}

/** Drops members without a value. */
function toAttributes(values: object): Attributes {
  const attributes: Attributes = {}
  for (const [key, value] of Object.entries(values)) {
    const name = NAMES[key]
    if (key === 'error' && value !== undefined) attributes['error.type'] = failureCode(value)
    else if (name !== undefined && value !== undefined) attributes[name] = value
  }
  return attributes
}
