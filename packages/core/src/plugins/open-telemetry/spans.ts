import {
  type Attributes,
  type Context,
  context,
  INVALID_TRACEID,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  type SpanOptions,
  SpanStatusCode,
  type Tracer,
  type TracerProvider,
  trace,
} from '@opentelemetry/api'
import { failureCode } from '../../events/failure-code.ts'
import type { Operation } from '../../events/telemetry.ts'
import { toErrorResponse } from '../../protocol/responses.ts'
import { AUTH_PATH } from '../../protocol.ts'
import { SCOPE } from './instruments.ts'
import { countRejection } from './metrics.ts'
import { withoutErrors } from './without-errors.ts'

type Outcome = { readonly result: unknown } | { readonly error: unknown }
type Endpoint = Extract<Operation, { name: 'endpoint' }>

/** Runs work in a span. Spans that the work starts are its children. */
export function traceWork<Result>(operation: Operation, work: () => Promise<Result>): Promise<Result> {
  const span = withoutErrors(() => startValidSpan(operation)) ?? null
  const isEndpoint = operation.name === 'endpoint'
  if (span === null && !isEndpoint) return work()
  const running = span === null ? work() : runIn(() => trace.setSpan(context.active(), span), work)
  const end = (outcome: Outcome) => {
    if (isEndpoint && 'error' in outcome) countEndpoint(operation, outcome.error)
    if (span !== null) withoutErrors(() => endSpan(span, operation, outcome))
  }
  running.then(
    (result) => end({ result }),
    (error: unknown) => end({ error }),
  )
  return running
}

/** Runs work outside the trace of the call that begins it, which ends long before the work does. */
export function runDetached<Result>(work: () => Promise<Result>): Promise<Result> {
  return runIn(() => ROOT_CONTEXT, work)
}

function runIn<Result>(contextOf: () => Context, work: () => Promise<Result>): Promise<Result> {
  const started: { result?: Promise<Result> } = {}
  const start = async () => work()
  withoutErrors(() =>
    context.with(contextOf(), () => {
      started.result ??= start()
    }),
  )
  return started.result ?? start()
}

/** Returns null without an SDK. */
function startValidSpan(operation: Operation): Span | null {
  const span = startSpan(operation)
  return span.spanContext().traceId === INVALID_TRACEID ? null : span
}

let current: { readonly provider: TracerProvider; readonly tracer: Tracer } | undefined

function tracer(): Tracer {
  const provider = trace.getTracerProvider()
  if (current?.provider !== provider) current = { provider, tracer: provider.getTracer(SCOPE) }
  return current.tracer
}

function startSpan(operation: Operation): Span {
  if (operation.name === 'endpoint') return startEndpoint(operation)
  if (operation.name !== 'step2' || operation.system === undefined)
    return tracer().startSpan(`sallyport.${operation.name}`)
  return tracer().startSpan('sallyport.step2', LOOKUPS[operation.system])
}

const LOOKUPS = { sqlite: lookupOf('sqlite'), postgresql: lookupOf('postgresql') } as const

function lookupOf(system: string): SpanOptions {
  return {
    kind: SpanKind.CLIENT,
    attributes: {
      'db.system.name': system,
      'db.operation.name': 'SELECT',
      'db.query.summary': 'SELECT session user',
    },
  }
}

/** Without an active span, no instrumentation recorded the request, so this is the server span. */
function startEndpoint({ method, path, scheme }: Endpoint): Span {
  if (scheme === null)
    return tracer().startSpan('sallyport.api', { attributes: { 'sallyport.endpoint': path ?? '' } })
  const isKnown = METHODS.has(method)
  const route = path === null ? null : AUTH_PATH + path
  const attributes: Attributes = {
    'http.request.method': isKnown ? method : '_OTHER',
    'url.scheme': scheme,
    // An unknown path isn't recorded, because it may contain a secret.
    ...(route !== null && { 'http.route': route, 'url.path': route }),
  }
  const name = isKnown ? method : 'HTTP'
  const kind = trace.getActiveSpan() === undefined ? SpanKind.SERVER : SpanKind.INTERNAL
  return tracer().startSpan(route === null ? name : `${name} ${route}`, { kind, attributes })
}

const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'CONNECT', 'TRACE'])

function endSpan(span: Span, operation: Operation, outcome: Outcome): void {
  const isHttp = operation.name === 'endpoint' && operation.scheme !== null
  if ('error' in outcome) {
    const { status, code } = toErrorResponse(outcome.error)
    span.setAttribute('sallyport.reason', code)
    if (isHttp) span.setAttribute('http.response.status_code', status)
    // By the conventions for HTTP servers, a rejection isn't an error of the server.
    if (status >= 500)
      span.setAttribute('error.type', failureCode(outcome.error)).setStatus({ code: SpanStatusCode.ERROR })
  } else if (operation.name === 'step1') span.setAttribute('sallyport.cached', wasKnown(outcome.result))
  else if (isHttp && outcome.result instanceof Response)
    span.setAttribute('http.response.status_code', outcome.result.status)
  span.end()
}

function countEndpoint({ path }: Endpoint, error: unknown): void {
  const { status, code } = toErrorResponse(error)
  if (status < 500) countRejection(path === null ? '_OTHER' : AUTH_PATH + path, code)
}

const known = new WeakSet<object>()

/** Returns whether Step 1 came from the cache, which returns the same object for each call with a token. */
function wasKnown(identity: unknown): boolean {
  if (typeof identity !== 'object' || identity === null) return false
  if (known.has(identity)) return true
  known.add(identity)
  return false
}
