import { cookieOf } from './owner.ts'
import { PATHS } from './paths.ts'
import type { History, Stage } from './state.ts'
import { type Copy, isOld, type KnownSession } from './thief.ts'

/** Checks that the owner is signed in in both tabs, and no event of their streams was lost or duplicated. */
export async function checkOwner(history: History): Promise<void> {
  const { app, browser, browserSession, programSession, program } = history
  await noteEnds(history)
  app.ticks.tick()
  if (!browserSession.isEnded) {
    await streamsFlow(history)
    for (const { authClient, trpc, ended } of [browser.page, browser.socketPage]) {
      expectEqual('the owner is in', await trpc.me.query(), browserSession.id)
      const { status, userChanges, error } = authClient.getState()
      expectEqual(
        'the state of the tab',
        `${status} ${userChanges} ${error?.code}`,
        'authenticated 0 undefined',
      )
      expectEqual('the stream of the tab', ended(), null)
      count(history, 'owner signed in, tab')
    }
  }
  if (!programSession.isEnded) {
    await unlessEnded(history, programSession, async () => {
      expectEqual('the program is in', await program.trpc.me.query(), programSession.id)
      count(history, 'owner signed in, program')
    })
  }
  await noteEnds(history)
}

/** Checks that old copies are worthless: the newest one on every path, or any of them on some paths. */
export async function checkCopies(history: History, which: 'newest' | 'any'): Promise<void> {
  const { app, copies, random, deadlines } = history
  const old = copies.filter(isOld)
  const chosen = which === 'newest' ? old.slice(-2) : old.length === 0 ? [] : [random.pick(old)]
  const paths = Object.entries(PATHS).filter(() => which === 'newest' || random.chance(0.3))
  for (const copy of chosen) {
    const answers = paths.map(async ([name, path]) => [name, await path(app, copy)] as const)
    for (const [name, answer] of await Promise.all(answers)) reject(history, name, answer)
  }
  for (const [each, deadline] of deadlines) {
    const late = [...each.socket.ticks, ...each.stream.ticks].filter((tick) => tick > deadline)
    if (late.length > 0) throw new Error(`An old stream emitted ${late}`)
    count(history, 'old streams are silent')
    await closesOldSocket(each)
    count(history, 'old socket is closed with 4401')
  }
  await noteEnds(history)
  await noCookiesLost(history)
}

/** Runs a check, and ignores failures caused by a legitimate end of the session. */
export async function unlessEnded(
  history: History,
  session: KnownSession,
  work: () => Promise<unknown>,
): Promise<void> {
  const wasEnded = session.isEnded
  try {
    await work()
  } catch (error) {
    await noteEnds(history)
    if (wasEnded || !session.isEnded) throw error
    count(history, 'a call that met a legitimate end')
  }
}

/** Records which sessions ended, and fails if nothing in the history ended them. */
export async function noteEnds({ app, browserSession, programSession, mayEnd }: History): Promise<void> {
  for (const session of [browserSession, programSession]) {
    if (session.isEnded) continue
    const row = await app.db
      .selectFrom('session')
      .select('id')
      .where('id', '=', session.id)
      .executeTakeFirst()
    if (row !== undefined) continue
    const cause = app.ends.get(session.id) ?? 'unknown'
    if (!mayEnd.has(cause)) throw new Error(`The session of the owner ended: ${cause}`)
    session.isEnded = true
  }
}

export async function streamsFlow(history: History): Promise<void> {
  const { app, browser, browserSession } = history
  for (const { ticks, ended } of [browser.page, browser.socketPage]) {
    for (let turns = 0; ticks.at(-1) !== app.ticks.latest; turns++) {
      if (ended() !== null || app.ends.has(browserSession.id)) break
      if (turns > 3_000) throw new Error(`The stream of the owner stopped at ${ticks.at(-1)}`)
      // Newly opened streams emit later ticks only.
      if (ticks.length === 0) app.ticks.tick()
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
    const first = ticks[0] ?? 0
    const expected = Array.from(ticks, (_, index) => first + index)
    expectEqual('the ticks of the owner', ticks.join(), expected.join())
    count(history, 'owner stream without a gap')
  }
}

async function closesOldSocket({ socket }: Copy): Promise<void> {
  for (let turns = 0; socket.closeCode() === null; turns++) {
    if (turns > 1_000) throw new Error('An old socket is still open')
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  if (socket.closeCode() !== 4401) throw new Error(`An old socket was closed with ${socket.closeCode()}`)
}

async function noCookiesLost({ app, browser, browserSession }: History): Promise<void> {
  if (browserSession.isEnded) return
  const names = [app.config.cookies.jwt, app.config.cookies.session]
  const missing = names.filter((name) => !browser.jar.has(name))
  if (missing.length > 0) throw new Error(`The owner lost ${missing}: ${cookieOf(browser.jar)}`)
}

export function reject(history: History, name: string, answer: string): void {
  if (/^(accepted|status 5|.*UNAVAILABLE|.* with Set-Cookie)/.test(answer)) {
    throw new Error(`${name}: an old credential was ${answer}`)
  }
  count(history, `${name}: ${answer}`)
}

export function count({ counts }: Stage, name: string): void {
  counts[name] = (counts[name] ?? 0) + 1
}

export function expectEqual(what: string, actual: unknown, expected: unknown): void {
  if (actual !== expected) throw new Error(`${what}: ${String(actual)} instead of ${String(expected)}`)
}
