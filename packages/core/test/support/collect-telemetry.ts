import { type Attributes, context, metrics, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics'
import {
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import { onTestFinished } from 'vitest'
import { leakWatch } from '../leaks/leak-watch.ts'

/** A span as text and values, so tests can compare it. */
export interface SeenSpan {
  readonly name: string
  readonly kind: string
  /** The name of the parent; null for a root. */
  readonly parent: string | null
  readonly attributes: Attributes
  readonly isError: boolean
}

export interface SeenPoint {
  readonly attributes: Attributes
  /** The value, or the number of values of a histogram. */
  readonly value: number
  /** The sum of a histogram. */
  readonly sum?: number | undefined
}

export interface Collected {
  /** Returns the ended spans, in the order of their ends. */
  spans(): SeenSpan[]
  /** The same, as the SDK exports them. */
  exported(): readonly ReadableSpan[]
  /** Returns the points of a metric; empty if nothing was recorded. */
  points(name: string): Promise<SeenPoint[]>
  /** Returns the metrics that have points, with their units. */
  units(): Promise<Record<string, string>>
  clear(): void
}

class Reader extends MetricReader {
  protected override async onForceFlush(): Promise<void> {}
  protected override async onShutdown(): Promise<void> {}
}

/** Registers a real SDK that keeps everything in memory, until the test ends. */
export function collectTelemetry(): Collected {
  const exporter = new InMemorySpanExporter()
  const reader = new Reader()
  const meters = new MeterProvider({ readers: [reader] })
  trace.setGlobalTracerProvider(
    new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] }),
  )
  metrics.setGlobalMeterProvider(meters)
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())

  async function collect() {
    const { resourceMetrics, errors } = await reader.collect()
    if (errors.length > 0) throw new AggregateError(errors)
    return resourceMetrics.scopeMetrics.flatMap((scope) => scope.metrics)
  }

  onTestFinished(async () => {
    // The watch searches it for secrets.
    leakWatch.add('telemetry', JSON.stringify([exporter.getFinishedSpans().map(toText), await collect()]))
    trace.disable()
    metrics.disable()
    context.disable()
    await meters.shutdown()
  })

  return {
    exported: () => exporter.getFinishedSpans(),
    spans() {
      const spans = exporter.getFinishedSpans()
      const names = new Map(spans.map((span) => [span.spanContext().spanId, span.name]))
      return spans.map((span) => {
        const { name, kind, attributes, status, parentSpanContext: parent } = span
        return {
          name,
          kind: SpanKind[kind],
          parent: parent === undefined ? null : (names.get(parent.spanId) ?? 'unknown'),
          attributes,
          isError: status.code === SpanStatusCode.ERROR,
        }
      })
    },
    async points(name) {
      const found = (await collect()).filter(({ descriptor }) => descriptor.name === name)
      return found.flatMap(({ dataPoints }): SeenPoint[] =>
        dataPoints.map(({ attributes, value }) =>
          typeof value === 'number'
            ? { attributes, value }
            : { attributes, value: value.count, sum: value.sum },
        ),
      )
    },
    async units() {
      const found = (await collect()).filter(({ dataPoints }) => dataPoints.length > 0)
      return Object.fromEntries(found.map(({ descriptor: { name, unit } }) => [name, unit]))
    },
    clear: () => exporter.reset(),
  }
}

function toText({ name, attributes, status, events, links }: ReadableSpan): object {
  return { name, attributes, status, events, links }
}
