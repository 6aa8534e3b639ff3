const LINK = /\[`?([^`\][]*)`?\]\(([\w-]*)(?:\.md)?#([\w-]+)\)/g

/** Where the links of a page into the reference go, as `page#anchor`. */
export function linksOf(name: string, page: string): string[] {
  return [...page.matchAll(LINK)].map(([, , target, anchor]) => `${target || name}#${anchor}`)
}

/** What can be linked to in a page, as `page#anchor`: its headings by the rules of GitHub, and its anchors. */
export function anchorsOf(name: string, page: string): string[] {
  const anchors = [...page.matchAll(/<a id="([\w-]+)">/g)].map(([, id = '']) => id)
  return [...headingsOf(page).map(({ slug }) => slug), ...anchors].map((anchor) => `${name}#${anchor}`)
}

/**
 * The pages with the links to exported names as GitHub counts headings of one slug, such as those of `cookieNames()` and `CookieNames`:
 * TypeDoc counts others along.
 */
export function relink(pages: ReadonlyMap<string, string>): Map<string, string> {
  const slugs = new Map(
    [...pages].flatMap(([name, page]) =>
      headingsOf(page).map(({ path, slug }) => [`${name}#${path}`, slug] as const),
    ),
  )
  const relinked = (name: string, page: string) =>
    page.replace(LINK, (link, text: string, target: string, anchor: string) => {
      const slug = slugs.get(`${target || name}#${text.replaceAll('\\', '')}`)
      return slug === undefined ? link : link.replace(`#${anchor})`, `#${slug})`)
    })
  return new Map([...pages].map(([name, page]) => [name, relinked(name, page)]))
}

interface Heading {
  /** Such as `AuthClient.getState`: an exported name, or that of a member. */
  readonly path: string
  readonly slug: string
}

function headingsOf(page: string): Heading[] {
  const seen = new Map<string, number>()
  let exported = ''
  return [...page.matchAll(/^(#+) (.*)$/gm)].map(([, { length: level } = '', title = '']) => {
    const slug = slugOf(title)
    const times = seen.get(slug) ?? 0
    seen.set(slug, times + 1)
    const name = title.replace('()', '')
    if (level === 3) exported = name
    const path = level > 3 ? `${exported}.${name}` : level === 3 ? name : ''
    return { path, slug: times === 0 ? slug : `${slug}-${times}` }
  })
}

const slugOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replace(/\s/g, '-')
