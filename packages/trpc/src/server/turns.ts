/** How many reads may begin in one turn of the event loop: a store that answers at once must not stop it. */
export const READS_A_TURN = 100

/**
 * Makes a function that runs jobs, in order and at most {@link READS_A_TURN} in a turn of the event loop. The first ones run before it
 * returns.
 */
export function inTurns(): (job: () => void) => void {
  let begunThisTurn = 0
  let waiting: (() => void)[] = []

  function begin(job: () => void): void {
    if (begunThisTurn === 0) setTimeout(endTurn, 0)
    begunThisTurn++
    job()
  }

  function endTurn(): void {
    begunThisTurn = 0
    const next = waiting.slice(0, READS_A_TURN)
    waiting = waiting.slice(READS_A_TURN)
    for (const job of next) begin(job)
  }

  return (job) => {
    if (begunThisTurn < READS_A_TURN && waiting.length === 0) begin(job)
    else waiting.push(job)
  }
}
