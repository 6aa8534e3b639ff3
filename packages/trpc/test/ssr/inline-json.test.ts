import { inlineJson } from '@sallyport/trpc/ssr'
import { expect, test } from 'vitest'

test.each(['</script><script>alert(1)</script>', '<!-- <script>', '</SCRIPT', ']]>&lt;"\u2028\u2029\\u003c'])(
  '%j neither ends a script element nor starts a comment, and survives the round trip',
  (name) => {
    const json = inlineJson({ name })
    expect(json).not.toContain('<')
    expect(JSON.parse(json)).toEqual({ name })
  },
)

test('values without JSON text are null', () => {
  expect(inlineJson(undefined)).toBe('null')
})
