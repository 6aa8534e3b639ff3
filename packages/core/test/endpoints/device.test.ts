import { expect, test } from 'vitest'
import { describeDevice } from '../../src/endpoints/device.ts'

test.each([
  [
    'Firefox on macOS',
    'Mozilla/5.0 (Macintosh; Intel Mac OS X 10.15; rv:140.0) Gecko/20100101 Firefox/140.0',
  ],
  [
    'Chrome on Windows',
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/147.0.0.0 Safari/537.36',
  ],
  [
    'Microsoft Edge on Windows',
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/147.0.0.0 Safari/537.36 Edg/147.0.0.0',
  ],
  [
    'Safari on iOS',
    'Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1',
  ],
  [
    'Chrome on Android',
    'Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/147.0.0.0 Mobile Safari/537.36',
  ],
  ['Firefox on Linux', 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0'],
  ['curl', 'curl/8.7.1'],
  ['node', 'node'],
  ['MyApp', 'MyApp/1.0 (build 7)'],
  ['PostmanRuntime', 'PostmanRuntime/7.43.0'],
])('%s', (device, userAgent) => {
  expect(describeDevice(userAgent)).toBe(device)
})

test.each([null, '', ' ', '\t'])('%j says nothing', (userAgent) => {
  expect(describeDevice(userAgent)).toBeNull()
})

test.each(['<script>alert(1)</script>', '/', '(', '\u0000', '💥'.repeat(256), 'x'.repeat(512), ' x'])(
  'what is made up is a text of at most its own length, or nothing: %j',
  (userAgent) => {
    expect((describeDevice(userAgent) ?? '').length).toBeLessThanOrEqual(userAgent.length)
  },
)
