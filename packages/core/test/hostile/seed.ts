/** What a run begins with; a run with the same seed makes the same tokens but for the random number in every ES256 signature. */
export const SEED: string = process.env.HOSTILE_SEED ?? 'sallyport'
