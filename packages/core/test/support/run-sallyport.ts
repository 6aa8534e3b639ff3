import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** The result of a call of `sallyport`. */
export interface Run {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** A call of `sallyport` in a separate process. */
export interface Running {
  readonly process: ChildProcess
  /** Waits until the printed lines pass a check. Rejects if the process exits before. */
  untilPrinted(isEnough: (lines: readonly string[]) => boolean): Promise<void>
  readonly ended: Promise<Run>
}

/** The path of a module whose default export is an auth definition. */
export const AUTH_DEFINITION: string = fileURLToPath(
  new URL('../fixtures/auth-definition.ts', import.meta.url),
)

const main = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))

/** Starts `sallyport` without waiting for it. */
export function startSallyport(
  args: readonly string[],
  { cwd, env = {}, input }: { cwd: string; env?: Readonly<Record<string, string>>; input?: string },
): Running {
  const { DATABASE_URL: _, ...inherited } = process.env
  const child = spawn(process.execPath, [main, ...args], {
    cwd,
    env: { ...inherited, ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  child.stdin.on('error', () => {}).end(input)
  const output = { stdout: '', stderr: '' }
  for (const stream of ['stdout', 'stderr'] as const)
    child[stream].setEncoding('utf8').on('data', (text) => {
      output[stream] += text
    })
  const ended = new Promise<Run>((resolve) => child.once('close', (code) => resolve({ code, ...output })))

  function untilPrinted(isEnough: (lines: readonly string[]) => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      const look = () => {
        if (isEnough(output.stdout.split('\n').slice(0, -1))) resolve()
      }
      child.stdout.on('data', look)
      void ended.then(() => reject(new Error(`It ended: ${output.stderr}`)))
      look()
    })
  }

  return { process: child, ended, untilPrinted }
}

/** Runs `sallyport` to its end. */
export const runSallyport = (...call: Parameters<typeof startSallyport>): Promise<Run> =>
  startSallyport(...call).ended
