/** Registers cleanup: `onTestFinished` of a concurrent test, or `afterAll`. */
export type OnCleanup = (work: () => void | Promise<void>) => void
