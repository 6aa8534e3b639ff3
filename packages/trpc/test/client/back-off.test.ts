import { afterEach, expect, test, vi } from 'vitest'
import { backOff } from '../../src/client/back-off.ts'

afterEach(() => void vi.restoreAllMocks())

test.each([
  { attempts: 1, retryAfterSeconds: null, lowest: 500, highest: 1_000 },
  { attempts: 2, retryAfterSeconds: null, lowest: 1_000, highest: 2_000 },
  { attempts: 99, retryAfterSeconds: null, lowest: 15_000, highest: 30_000 },
  { attempts: 1, retryAfterSeconds: 1, lowest: 1_000, highest: 1_500 },
  { attempts: 6, retryAfterSeconds: 1, lowest: 15_000, highest: 30_000 },
  { attempts: 1, retryAfterSeconds: 300, lowest: 300_000, highest: 300_500 },
  { attempts: 1, retryAfterSeconds: 1e12, lowest: 2 ** 31 - 1, highest: 2 ** 31 - 1 },
])(
  'waits $lowest to $highest ms after attempt $attempts if the server requests $retryAfterSeconds s',
  (row) => {
    const random = vi.spyOn(Math, 'random').mockReturnValue(0)
    expect(backOff(row.attempts, row.retryAfterSeconds)).toBe(row.lowest)
    random.mockReturnValue(1)
    expect(backOff(row.attempts, row.retryAfterSeconds)).toBe(row.highest)
  },
)
