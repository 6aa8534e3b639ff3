interface Cookie {
  readonly value: string
  readonly expiresAt: number
}

/** The cookies of a browser that is never closed. They expire by `Date`. */
export class CookieJar {
  readonly #cookies = new Map<string, Cookie>()

  receive(headers: Headers): void {
    for (const line of headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      const maxAge = /max-age=(-?\d+)/i.exec(line)?.[1]
      const expiresAt = maxAge === undefined ? Number.POSITIVE_INFINITY : Date.now() + Number(maxAge) * 1_000
      this.#cookies.set(name, { value, expiresAt })
    }
  }

  /** Ends the browser session: drops the cookies without `Max-Age`. */
  restart(): void {
    for (const [name, { expiresAt }] of this.#cookies)
      if (expiresAt === Number.POSITIVE_INFINITY) this.#cookies.delete(name)
  }

  toString(): string {
    const live = [...this.#cookies].filter(([, { expiresAt }]) => expiresAt > Date.now())
    return live.map(([name, { value }]) => `${name}=${value}`).join('; ')
  }
}
