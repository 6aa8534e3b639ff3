import { AxeBuilder } from '@axe-core/playwright'
import type { Page } from 'playwright-core'

/**
 * Returns the texts of a page, or of markup from the server. For a time, returns `datetime`: its text depends
 * on the clock. Leaves out timers.
 */
export function textOf(page: Page, markup?: string): Promise<string[]> {
  return page.evaluate((markup) => {
    const { body } = markup === undefined ? document : new DOMParser().parseFromString(markup, 'text/html')
    const pieces: string[] = []
    const walker = document.createTreeWalker(body, NodeFilter.SHOW_TEXT)
    for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
      const [text, around] = [node.textContent?.trim(), node.parentElement]
      if (text && !around?.closest('script, [role=timer]'))
        pieces.push(around?.closest('time')?.getAttribute('datetime') ?? text)
    }
    return pieces
  }, markup)
}

/** Returns the violations that axe finds, with their elements. */
export async function violationsOf(page: Page, rules?: string[]): Promise<string[]> {
  // Without an extra page, and without results for rules that pass: faster.
  const axe = new AxeBuilder({ page }).setLegacyMode().options({
    resultTypes: ['violations'],
    ...(rules && { runOnly: { type: 'rule', values: rules } }),
  })
  const { violations } = await axe.analyze()
  return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`))
}

/** Returns by how many pixels the page or its navigation overflows. */
export const overflowOf = (page: Page): Promise<number> =>
  page.evaluate(() =>
    Math.max(
      ...[...document.querySelectorAll('html, nav')].map(
        (element) => element.scrollWidth - element.clientWidth,
      ),
    ),
  )

/** Returns the controls of a page in order, and the elements that the Tab key reaches from its top. */
export async function tabOrderOf(page: Page): Promise<{ usable: string[]; reached: string[] }> {
  const usable = await page
    .locator(
      'a[href], button, input:not([type=radio]:not(:checked)), select, textarea, summary, [tabindex="0"]',
    )
    .evaluateAll((elements) =>
      elements
        .filter((element) => !element.matches(':disabled, [aria-hidden=true]') && element.checkVisibility())
        .map((element) => element.outerHTML),
    )
  const focused = await page.evaluateHandle(() => {
    const elements: Element[] = []
    document.addEventListener('focusin', ({ target }) => {
      if (target instanceof Element) elements.push(target)
    })
    return elements
  })
  // A date input has four stops. The presses don't wait for each other, so no step is painted.
  const dates = usable.filter((element) => element.includes('type="date"')).length
  await Promise.all(Array.from({ length: usable.length + 3 * dates }, () => page.keyboard.press('Tab')))
  const reached = await focused.evaluate((elements) => elements.map((element) => element.outerHTML))
  return { usable, reached }
}
