export { createTestAuth, TEST_PASSWORD, type TestAuth, type TestSession } from './testing/create-test-auth.ts'
export type { TestClock } from './testing/instruments.ts'
