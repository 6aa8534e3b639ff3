/**
 * JSON for a `<script type="application/json">`: whatever a user has written into the data, it cannot end the element or begin a comment.
 * In an attribute or a script that runs it is not safe.
 *
 * @example <script type="application/json" id="state" dangerouslySetInnerHTML={{ __html: inlineJson(state) }} />
 */
export function inlineJson(value: unknown): string {
  return (JSON.stringify(value) ?? 'null').replaceAll('<', '\\u003c')
}
