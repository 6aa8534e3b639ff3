import { setTimeout as sleep } from 'node:timers/promises'

/** Waits until a condition is true. If it never is, the test fails by its own time limit. */
export async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await sleep(5)
}
