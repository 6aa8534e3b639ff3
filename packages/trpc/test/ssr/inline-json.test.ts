import { inlineJson } from '@sallyport/trpc/ssr'
import { expect, test } from 'vitest'

test.each(['</script><script>alert(1)</script>', '<!-- <script>', '</SCRIPT', ']]>&lt;"\u2028\u2029\\u003c'])(
  '%j neither ends a script element nor begins a comment, and comes out as it went in',
  (name) => {
    const json = inlineJson({ name })
    expect(json).not.toContain('<')
    expect(JSON.parse(json)).toEqual({ name })
  },
)

test('what JSON has no text for is null', () => {
  expect(inlineJson(undefined)).toBe('null')
})
