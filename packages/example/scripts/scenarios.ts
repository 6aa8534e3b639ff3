/** Runs the seven rows of the scenario matrix against a real server and prints the results. */
import { type Call, callMe, type KnownUser } from '../src/gate/call-me.ts'
import { type CookieJar, createCookieJar } from '../src/gate/cookie-jar.ts'
import type { ScenarioRun } from '../src/gate/run-scenario.ts'
import { SCENARIOS, type Scenario } from '../src/gate/scenarios.ts'
import { startExample } from '../test/start-example.ts'

const example = await startExample()
process.once('exit', () => example.process.kill())

let failures = 0
printRow(['scenario', 'JWT', 'session', 'decided by', 'result', 'time', ''])
for (const scenario of SCENARIOS) {
  const browser = createCookieJar(fetch)
  const user = await enter(scenario, browser)
  const startedAt = performance.now()
  const call = await callMe(example.url, user, browser.fetch)
  const time = `${(performance.now() - startedAt).toFixed(1)} ms`
  const isRight = call.result === scenario.result && call.experience === scenario.experience
  if (!isRight) failures++
  const { title, jwt, session, result, experience } = scenario
  const verdict = isRight ? 'as specified' : `EXPECTED ${result}, ${experience}`
  printRow([title, jwt, session, decidedBy(call), `${call.result} ${reasonsOf(call)}`, time, verdict])
}

example.process.kill('SIGINT')
await example.exit
process.exitCode = failures

/** Puts a browser into a state, as the page of the gate does. Returns the user that the browser knows. */
async function enter({ name }: Scenario, browser: CookieJar): Promise<KnownUser> {
  const url = `${example.url}/gate/scenario/${name}`
  const response = await browser.fetch(url, { method: 'POST', headers: { 'x-sallyport': '1' } })
  if (!response.ok) throw new Error(`${url} responded with ${response.status}`)
  const run: ScenarioRun = await response.json()
  return run.user
}

function decidedBy({ exchanges }: Call): string {
  const last = exchanges.findLast(({ path }) => path === '/trpc/me')
  if (last?.status === 200) return 'both steps'
  return last?.reason?.startsWith('TOKEN_') ? 'Step 1' : 'Step 2'
}

/** Returns why the call and its refresh were rejected. */
function reasonsOf({ exchanges, message }: Call): string {
  const reasons = new Set(exchanges.flatMap(({ reason }) => reason ?? []))
  return [...reasons].join(', then ') + (message === null ? '' : ` "${message}"`)
}

function printRow(cells: readonly string[]): void {
  const widths = [29, 9, 14, 11, 46, 9, 0]
  console.log(cells.map((cell, index) => cell.padEnd(widths[index] ?? 0)).join(' '))
}
