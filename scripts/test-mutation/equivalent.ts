/** A mutant that behaves like the original, so no test can kill it. */
export interface Equivalent {
  /** Relative to `packages`. */
  readonly file: string
  /** The line on which the mutant starts, and the line after the mutation, as the report prints them. */
  readonly line: string
  readonly mutant: string
  readonly reason: string
}

/** An entry that matches no surviving mutant fails the run. */
export const EQUIVALENT: readonly Equivalent[] = [
  {
    file: 'core/src/request/cookie.ts',
    line: 'isEqual: (first: string, second: string) => boolean = () => false,',
    mutant: 'isEqual: (first: string, second: string) => boolean = () => undefined,',
    reason: 'Both are falsy.',
  },
  {
    file: 'core/src/request/cookie.ts',
    line: 'for (let start = 0; start < header.length; ) {',
    mutant: 'for (let start = 0; start <= header.length; ) {',
    reason: 'No name starts at the end of the header.',
  },
  {
    file: 'core/src/request/cookie.ts',
    line: "const scope = { ...(domain !== undefined && { domain }), path: '/' }",
    mutant: "const scope = { ...(true && { domain }), path: '/' }",
    reason: 'The cookie has no domain if it is undefined. The check is for the compiler.',
  },
  {
    file: 'core/src/request/credentials.ts',
    line: "return /^Bearer +([^ ]+)$/i.exec(header('authorization') ?? '')?.[1] ?? null",
    mutant: 'return /^Bearer +([^ ]+)$/i.exec(header(\'authorization\') ?? "Stryker was here!")?.[1] ?? null',
    reason: 'Neither text matches.',
  },
  {
    file: 'core/src/session/secret-keys.ts',
    line: "const key = await crypto.subtle.importKey('raw', bytes, algorithm, false, ['verify'])",
    mutant: "const key = await crypto.subtle.importKey('raw', bytes, algorithm, true, ['verify'])",
    reason: 'The key is never exposed, so nothing could export it.',
  },
  {
    file: 'core/src/session/validate-session.ts',
    line: 'return rotatedAt !== null && version - 1 === identity.version && isInGrace(new Date(rotatedAt), now)',
    mutant: 'return true && version - 1 === identity.version && isInGrace(new Date(rotatedAt), now)',
    reason: 'A missing date becomes 1970, which is out of grace. The check is for the compiler.',
  },
  {
    file: 'core/src/keys/live-keys.ts',
    line: "let fingerprint = ''",
    mutant: 'let fingerprint = "Stryker was here!"',
    reason: 'Neither text is JSON, so both differ from every set.',
  },
  {
    file: 'core/src/keys/signing-keys.ts',
    line: "if (key === undefined) throw new Error('The runtime created no key. Try another algorithm.')",
    mutant: "if (false) throw new Error('The runtime created no key. Try another algorithm.')",
    reason: 'A set of one key has a first key. The check is for the compiler.',
  },
  {
    file: 'core/src/keys/signing-keys.ts',
    line: "const [key] = parsePrivateJwks({ keys: [{ ...jwk, kid, alg, use: 'sig' }] }, 'The new key')",
    mutant: `const [key] = parsePrivateJwks({ keys: [{ ...jwk, kid, alg, use: 'sig' }] }, "")`,
    reason: 'The name is part of a message about a key that this runtime created wrongly.',
  },
  {
    file: 'core/src/keys/verification-key.ts',
    line: "if (key instanceof Uint8Array) throw new TypeError('An asymmetric key was expected')",
    mutant: "if (false) throw new TypeError('An asymmetric key was expected')",
    reason: 'The policy allows only asymmetric keys. The check is for the compiler.',
  },
  {
    file: 'core/src/jwt/identity-cache.ts',
    line: 'if (!oldest.done) identities.delete(oldest.value)',
    mutant: 'if (true) identities.delete(oldest.value)',
    reason: 'An empty map has no entry to delete. The check is for the compiler.',
  },
  {
    file: 'core/src/jwt/claims.ts',
    line: "return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= MAX_NUMERIC_DATE",
    mutant: 'return true && Number.isInteger(value) && value >= 0 && value <= MAX_NUMERIC_DATE',
    reason: 'Only numbers are integers. The check is for the compiler.',
  },
  {
    file: 'core/src/jwt/encoding.ts',
    line: "const lastDigit = ALPHABET.indexOf(value.at(-1) ?? 'A')",
    mutant: 'const lastDigit = ALPHABET.indexOf(value.at(-1) ?? "")',
    reason: 'Both are at index 0.',
  },
  {
    file: 'core/src/jwt/verify-jws.ts',
    line: 'const { payload } = await compactVerify(token, cryptoKey, { algorithms: [key.alg] })',
    mutant: 'const { payload } = await compactVerify(token, cryptoKey, {})',
    reason: 'A second check: the algorithm of the header was compared with that of the key.',
  },
  {
    file: 'core/src/jwt/verify-jws.ts',
    line: "if (typeof alg !== 'string' || typeof kid !== 'string' || !isAllowed)",
    mutant: "if (false || typeof kid !== 'string' || !isAllowed)",
    reason: 'A key set has no algorithm that is not a string. The check is for the compiler.',
  },
  {
    file: 'core/src/jwt/verify-jws.ts',
    line: "const UNSAFE_MEMBERS = new Set(['b64', 'crit', 'enc', 'jku', 'jwk', 'x5c', 'x5u', 'zip'])",
    mutant: `const UNSAFE_MEMBERS = new Set(['b64', "", 'enc', 'jku', 'jwk', 'x5c', 'x5u', 'zip'])`,
    reason: 'A second check: jose rejects every token with this member.',
  },
  ...['header', 'payload', 'signature'].map((segment) => ({
    file: 'core/src/jwt/verify-jws.ts',
    line: "const [header = '', payload = '', signature = '', ...more] = token.split('.', 4)",
    mutant: "const [header = '', payload = '', signature = '', ...more] = token.split('.', 4)".replace(
      `${segment} = ''`,
      `${segment} = "Stryker was here!"`,
    ),
    reason: 'Neither an empty segment nor this one is base64url.',
  })),
  {
    file: 'core/src/request/origin.ts',
    line: 'const listed = origin !== null && config.allowedOrigins.has(origin)',
    mutant: 'const listed = true && config.allowedOrigins.has(origin)',
    reason: 'No list contains null. The check is for the compiler.',
  },
  {
    file: 'core/src/session/read-date.ts',
    line: "const isWithoutZone = !value.endsWith('Z') && WITHOUT_ZONE.test(value)",
    mutant: "const isWithoutZone = !value.startsWith('Z') && WITHOUT_ZONE.test(value)",
    reason: 'The pattern matches no text that ends with Z. The check saves time.',
  },
  {
    file: 'core/src/session/added-columns.ts',
    line: "return typeof value === 'string' && /^[[{]/.test(value) ? (parseJson(value) ?? value) : value",
    mutant: "return typeof value === 'string' && /[[{]/.test(value) ? (parseJson(value) ?? value) : value",
    reason: 'A text with a bracket elsewhere is not JSON, so it stays as it is.',
  },
  {
    file: 'core/src/session/report-denial.ts',
    line: 'if (config.onEvent === undefined) return',
    mutant: 'if (false) return',
    reason: 'Without a listener, nothing receives the event. The check saves a hash.',
  },
  {
    file: 'core/src/session/report-denial.ts',
    line: 'if (config.onEvent === undefined && config.telemetry === undefined) return decide()',
    mutant: 'if (false) return decide()',
    reason: 'Without a listener and telemetry, nothing receives the report. The check saves time.',
  },
  {
    file: 'core/src/session/report-denial.ts',
    line: 'return new AuthError(reason, { ...(required !== undefined && { required }) })',
    mutant: 'return new AuthError(reason, { ...(true && { required }) })',
    reason: 'The error ignores the option if it is undefined. The check is for the compiler.',
  },
  {
    file: 'core/src/session/session-row.ts',
    line: 'const ofSession = (added?.session ?? []).map(([name]) => session[name])',
    mutant: 'const ofSession = (added?.session ?? ["Stryker was here"]).map(([name]) => session[name])',
    reason: 'Without added columns, nothing reads the values after the own ones.',
  },
  {
    file: 'core/src/session/session-row.ts',
    line: 'const ofUser = (added?.user ?? []).map(([name]) => user[name])',
    mutant: 'const ofUser = (added?.user ?? ["Stryker was here"]).map(([name]) => user[name])',
    reason: 'Without added columns, nothing reads the values after the own ones.',
  },
  {
    file: 'core/src/session/added-columns.ts',
    line: "export function decodeColumn(value: unknown, type: ColumnType = 'text'): unknown {",
    mutant: 'export function decodeColumn(value: unknown, type: ColumnType = ""): unknown {',
    reason: 'Neither type changes the value.',
  },
  {
    file: 'trpc/src/server/fastify-plugin.ts',
    line: "const { method = 'GET', rawHeaders, headers: known, url: path = '/' } = message",
    mutant: `const { method = "", rawHeaders, headers: known, url: path = '/' } = message`,
    reason: 'Node sets both for each request of a server. The defaults are for the compiler.',
  },
  {
    file: 'trpc/src/server/fastify-plugin.ts',
    line: "const { method = 'GET', rawHeaders, headers: known, url: path = '/' } = message",
    mutant: `const { method = 'GET', rawHeaders, headers: known, url: path = "" } = message`,
    reason: 'Node sets both for each request of a server. The defaults are for the compiler.',
  },
  {
    file: 'trpc/src/server/fastify-plugin.ts',
    line: "const [name = '', value = ''] = rawHeaders.slice(index, index + 2)",
    mutant: `const [name = "Stryker was here!", value = ''] = rawHeaders.slice(index, index + 2)`,
    reason: 'Each name has a value. The defaults are for the compiler.',
  },
  {
    file: 'trpc/src/server/fastify-plugin.ts',
    line: "const [name = '', value = ''] = rawHeaders.slice(index, index + 2)",
    mutant: `const [name = '', value = "Stryker was here!"] = rawHeaders.slice(index, index + 2)`,
    reason: 'Each name has a value. The defaults are for the compiler.',
  },
  {
    file: 'trpc/src/server/fastify-plugin.ts',
    line: 'await chunks.return?.()',
    mutant: 'await chunks.return()',
    reason: 'The iterator of a body has this method. The check is for the compiler.',
  },
  {
    file: 'trpc/src/server/context.ts',
    line: '} catch {',
    mutant: '} catch {}',
    reason: 'Without a result, it is falsy, too.',
  },
  {
    file: 'trpc/src/server/guard.ts',
    line: 'Object.defineProperty(guard, brand, { value: true })',
    mutant: 'Object.defineProperty(guard, brand, {})',
    reason: 'Only the presence of the mark is checked.',
  },
  {
    file: 'trpc/src/server/guard.ts',
    line: 'Object.defineProperty(guard, brand, { value: true })',
    mutant: 'Object.defineProperty(guard, brand, { value: false })',
    reason: 'Only the presence of the mark is checked.',
  },
  {
    file: 'trpc/src/server/guard.ts',
    line: "if (this.#read === null) throw new TypeError('No session was read for this call')",
    mutant: "if (false) throw new TypeError('No session was read for this call')",
    reason: 'Only an accepted call has a lease. The check is for the compiler.',
  },
  {
    file: 'trpc/src/server/guard.ts',
    line: "if (this.#read === null) throw new TypeError('No session was read for this call')",
    mutant: 'if (this.#read === null) ;',
    reason: 'Only an accepted call has a lease. The check is for the compiler.',
  },
  {
    file: 'trpc/src/server/guard.ts',
    line: "const { kind, path = '' } = this[authCall]",
    mutant: 'const { kind, path = "Stryker was here!" } = this[authCall]',
    reason: 'A guarded call has a path. The default is for the compiler.',
  },
  {
    file: 'trpc/src/server/session-middleware.ts',
    line: 'if (!isAuthError(cause)) throw cause',
    mutant: 'if (false) throw cause',
    reason: 'An error without a reason reaches the last line, which throws it, too.',
  },
  {
    file: 'trpc/src/server/open-calls.ts',
    line: "const mayBeSubscription = frame.includes('subscription') || frame.includes(0x5c)",
    mutant: 'const mayBeSubscription = frame.includes("") || frame.includes(0x5c)',
    reason: 'Every frame is then parsed, with the same result. The check saves time.',
  },
  {
    file: 'trpc/src/server/open-calls.ts',
    line: 'if (json !== undefined) {',
    mutant: 'if (false) {',
    reason: 'Every frame is then parsed, with the same result. The pattern saves time.',
  },
  {
    file: 'trpc/src/server/open-calls.ts',
    line: "const mayBeSubscription = frame.includes('subscription') || frame.includes(0x5c)",
    mutant: 'const mayBeSubscription = true',
    reason: 'Every frame is then parsed, with the same result. The check saves time.',
  },
  {
    file: 'trpc/src/server/open-calls.ts',
    line: 'if (json !== undefined) {',
    mutant: 'if (json !== undefined) {}',
    reason: 'Every frame is then parsed, with the same result. The pattern saves time.',
  },
  {
    file: 'trpc/src/server/open-calls.ts',
    line: "if (this.#subscriptions.size + this.#calls.size === 0 || typeof frame !== 'string') return true",
    mutant: "if (false || typeof frame !== 'string') return true",
    reason: 'Without calls, a response changes nothing. The check saves time.',
  },
  {
    file: 'trpc/src/server/open-calls.ts',
    line: String.raw`const CALL = /^\{"id":(?<id>0|[1-9]\d*),(?:"jsonrpc":"2\.0",)?"method":"(?:query|mutation)"/`,
    mutant: String.raw`const CALL = /^\{"id":(?<id>0|[1-9]\d),(?:"jsonrpc":"2\.0",)?"method":"(?:query|mutation)"/`,
    reason: 'A frame that the pattern misses is parsed, with the same result.',
  },
  {
    file: 'trpc/src/server/open-calls.ts',
    line: String.raw`const CALL = /^\{"id":(?<id>0|[1-9]\d*),(?:"jsonrpc":"2\.0",)?"method":"(?:query|mutation)"/`,
    mutant: String.raw`const CALL = /^\{"id":(?<id>0|[1-9]\d*),(?:"jsonrpc":"2\.0",)"method":"(?:query|mutation)"/`,
    reason: 'A frame that the pattern misses is parsed, with the same result.',
  },
  {
    file: 'trpc/src/server/socket-limiter.ts',
    line: 'if (!isOpen(this.#socket)) return false',
    mutant: 'if (!isOpen(this.#socket)) return true',
    reason: '`ws` ignores what `emit` returns.',
  },
  {
    file: 'trpc/src/server/socket-limiter.ts',
    line: 'if (this.#frames.spend()) return this.#deliver(event, args)',
    mutant: 'if (false) return this.#deliver(event, args)',
    reason: '`add` spends and delivers in the same way.',
  },
  {
    file: 'trpc/src/server/open-calls.ts',
    line: 'if (frame.length === 4) return {}',
    mutant: 'if (false) return {}',
    reason:
      'No call has four bytes, so parsing them returns neither an id nor a method. The check saves time.',
  },
  {
    file: 'trpc/src/server/split-frame.ts',
    line: 'for (let index = start; index < frame.length; index++) {',
    mutant: 'for (let index = start; index <= frame.length; index++) {',
    reason: 'The end of the frame is read as a character without a meaning.',
  },
  {
    file: 'trpc/src/server/assert-guarded.ts',
    line: "return typeof middleware === 'function' && '_type' in middleware && middleware._type === 'input'",
    mutant: "return true && '_type' in middleware && middleware._type === 'input'",
    reason: 'A middleware is a function, and a missing member is undefined. The checks are for the compiler.',
  },
  {
    file: 'trpc/src/server/assert-guarded.ts',
    line: "return typeof middleware === 'function' && '_type' in middleware && middleware._type === 'input'",
    mutant:
      "return typeof middleware === 'function' || '_type' in middleware && middleware._type === 'input'",
    reason: 'A middleware is a function, and a missing member is undefined. The checks are for the compiler.',
  },
  {
    file: 'trpc/src/server/assert-guarded.ts',
    line: "return typeof middleware === 'function' && '_type' in middleware && middleware._type === 'input'",
    mutant: "return true && middleware._type === 'input'",
    reason: 'A middleware is a function, and a missing member is undefined. The checks are for the compiler.',
  },
  {
    file: 'trpc/src/server/errors.ts',
    line: 'const isMixed = errors.length < data.length || errors.some(({ code }) => code !== errors[0]?.code)',
    mutant:
      'const isMixed = errors.length < data.length || errors.some(({ code }) => code !== errors[0].code)',
    reason: 'A list with an error has a first one. The check is for the compiler.',
  },
  {
    file: 'trpc/src/server/session-lease.ts',
    line: 'if (startedAt >= this.#readAt) {',
    mutant: 'if (startedAt > this.#readAt) {',
    reason: 'Two reads never begin at the same instant of the monotonic clock.',
  },
  {
    file: 'trpc/src/server/session-lease.ts',
    line: 'if (!this.#isRotatedOut && (this.#emitting === 0 || delay > LEASE_MS)) return',
    mutant: 'if (!this.#isRotatedOut && (this.#emitting === 0 || delay >= LEASE_MS)) return',
    reason: 'A renewal comes first, and sets the timer.',
  },
  {
    file: 'trpc/src/server/session-lease.ts',
    line: 'await this.#read({ isRenewal: false })',
    mutant: 'await this.#read({})',
    reason: 'Both are falsy.',
  },
  {
    file: 'trpc/src/server/auth-request.ts',
    line: 'if (!isShared || performance.now() - last.startedAt > MAX_SHARED_READ_MS)',
    mutant: 'if (!isShared || performance.now() - last.startedAt >= MAX_SHARED_READ_MS)',
    reason: 'No call comes at exactly that instant of the monotonic clock.',
  },
  {
    file: 'trpc/src/server/session-lease.ts',
    line: "this.#shared.config.telemetry?.record('revocationDelay', delay, {})",
    mutant: "this.#shared.config.telemetry.record('revocationDelay', delay, {})",
    reason: 'Without telemetry, no announcement is kept, so nothing is recorded.',
  },
  {
    file: 'trpc/src/server/session-leases.ts',
    line: 'let unsubscribeFromKeys: (() => void)[] = []',
    mutant: 'let unsubscribeFromKeys: (() => void)[] = ["Stryker was here"]',
    reason: 'The first lease replaces it.',
  },
  {
    file: 'trpc/src/server/session-lease.ts',
    line: '#isRotatedOut = false',
    mutant: '#isRotatedOut = true',
    reason: 'The first subscriber sets it before anything reads it.',
  },
  {
    file: 'trpc/src/server/session-lease.ts',
    line: 'const config = maxMs < quiet.lookupTimeoutMs ? { ...quiet, lookupTimeoutMs: maxMs } : quiet',
    mutant: 'const config = maxMs <= quiet.lookupTimeoutMs ? { ...quiet, lookupTimeoutMs: maxMs } : quiet',
    reason: 'Equal limits are the same limit.',
  },
  {
    file: 'trpc/src/server/web-socket-options.ts',
    line: "return [500, 'Internal Server Error']",
    mutant: 'return [500, ""]',
    reason: 'For an empty text, ws sends the usual one of the status, which is the same.',
  },
]
