/**
 * Returns JSON for a `<script type="application/json">`. Not safe in an attribute or in a script that runs.
 *
 * @example `<script type="application/json" id="state">${inlineJson(page.state)}</script>`
 */
export function inlineJson(value: unknown): string {
  return (JSON.stringify(value) ?? 'null').replaceAll('<', '\\u003c')
}
