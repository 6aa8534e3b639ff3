import { setTimeout as sleep } from 'node:timers/promises'

/** Waits until something has become so. The test fails by its own time limit if it never does. */
export async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await sleep(5)
}
