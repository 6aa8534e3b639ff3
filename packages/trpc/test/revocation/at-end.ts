/** Registers work for the end: `onTestFinished` of one of several tests that run at once, or `afterAll`. */
export type AtEnd = (work: () => void | Promise<void>) => void
