export { countLookups, type LookupCounter } from './testing/count-lookups.ts'
export { createTestAuth, TEST_PASSWORD, type TestAuth, type TestSession } from './testing/create-test-auth.ts'
export { createTestClock, type TestClock } from './testing/test-clock.ts'
