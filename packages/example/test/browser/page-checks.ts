import { AxeBuilder } from '@axe-core/playwright'
import type { Page } from 'playwright-core'

/**
 * What a page says, piece by piece: now, or in the markup of an answer before any script has run. Of a time it is the machine's form: the
 * browser shows the reader's own. A timer goes on.
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

/** What axe finds, with the elements at fault. */
export async function violationsOf(page: Page, rules?: string[]): Promise<string[]> {
  // No page of its own to report on, and no time for what passes.
  const axe = new AxeBuilder({ page }).setLegacyMode().options({
    resultTypes: ['violations'],
    ...(rules && { runOnly: { type: 'rule', values: rules } }),
  })
  const { violations } = await axe.analyze()
  return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`))
}

/** By how much the page is wider than its window, or its navigation than the room for it. */
export const overflowOf = (page: Page): Promise<number> =>
  page.evaluate(() =>
    Math.max(
      ...[...document.querySelectorAll('html, nav')].map(
        (element) => element.scrollWidth - element.clientWidth,
      ),
    ),
  )

/** What can be used on a page, in its order, of a group of radio buttons the one that is chosen; and where the Tab key leads to from the top of it. */
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
  // Without waiting in between, which would have every step painted.
  await Promise.all(usable.map(() => page.keyboard.press('Tab')))
  const reached = await focused.evaluate((elements) => elements.map((element) => element.outerHTML))
  return { usable, reached }
}
