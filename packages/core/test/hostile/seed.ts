/**
 * The seed of a run. The same seed creates the same tokens, except for the random number in ES256 signatures.
 */
export const SEED: string = process.env.HOSTILE_SEED ?? 'sallyport'
