import { CallRefusal } from './call-refusal.ts'

/**
 * Bounds how many calls run at a time.
 *
 * @returns takes a place and returns what gives it back, to be called once; throws CallRefusal `UNDECIDED` where there is none
 */
export function callSlots(maxConcurrent: number): () => () => void {
  let taken = 0
  return () => {
    if (taken >= maxConcurrent)
      throw new CallRefusal('UNDECIDED', { cause: new Error('Too many calls at a time') })
    taken++
    return () => {
      taken--
    }
  }
}
