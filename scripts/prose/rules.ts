import type { TextlintKernelRule, TextlintRuleModule, TextlintRuleReporter } from '@textlint/kernel'
import pattern from '@textlint-rule/textlint-rule-pattern'

type TxtNode = Parameters<Parameters<TextlintRuleReporter>[0]['report']>[0]

const MAX_WORDS = 40

/** Words that slow readers down, each with what to write instead. Code is not searched. */
const WORDS: readonly (readonly [words: RegExp, advice: string])[] = [
  [/\bwhom?ever\b/i, 'name the subject: "the client", "the caller", "a user"'],
  [/\bwhatever\s+is\b/i, 'name the subject'],
  [/\bnobody\b/i, 'name the subject, or write "no one"'],
  [/\banybody['’]s\b/i, 'name the subject'],
  [/\bsomebody\s+else\b/i, 'write "another user" or "another person"'],
  [/\b(is|are)\s+told\b/i, 'write "learns" or "receives", or name the sender'],
  [/\btells\s+of\b/i, 'write "describes" or "reports"'],
  [/\bhears\s+of\b/i, 'write "learns of"'],
  [/\bis\s+heard\b/i, 'write who receives it'],
  [/\bof\s+(its|their)\s+own\b/i, 'write "its own ..." or "a separate ..."'],
  [/\bof\s+(ours|theirs)\b/i, 'write "our ..." or "their ..."'],
  [/\bbe\s+had\b/i, 'write "be read", "be loaded", or "is available"'],
  // A question ("Is there a session?") is fine.
  [/\bis\s+there\b(?!\s+(an?|any|no|another|more|still)\b)/i, 'write "exists"'],
  // "There is no session", "is no longer", and "is no more than" are fine.
  [/(?<!\b(there|where)\s+)\b(is|are)\s+no\s+(?!(longer|(more|less)\s+than)\b)/i, 'write "isn\'t a"'],
  // The noun ("row counts"), a verb with an object ("counts attempts"), and "counts as" are fine.
  [
    /\b(that|which|what|who|it|one|none|nothing|still|longer|only)\s+counts\b(?!\s+(an?|as|the|each|every|how|all|\w+s)\b)/i,
    'write "is valid"',
  ],
  [/\bstands?\s+in\b(?!\s+for\b)/i, 'write "is in"'],
  [/\bby\s+itself\b/i, 'write "automatically" or "alone"'],
  // "Look alike" is fine.
  [/(?<!\blooks?\s+)\balike\b/i, 'write "both" or "the same way"'],
  [/\bbesides\b/i, 'write "also", "other than", or "in addition to"'],
  [/\bwhere\s+there\s+is\s+none\b/i, 'write "otherwise", or name the case'],
  [/\bbe\s+it\b(?!['’])/i, 'write "whether", or name the cases'],
  [/\bso\s+that\b(?!['’])/i, 'write "so"'],
  // "They are all the same" is fine.
  [/(?<!\b(are|were|be)\s+)\ball\s+the\s+same\b/i, 'write "anyway" or "still"'],
  [/\bWhat\s+\{@link/, 'start with a verb: "Returns", "Describes"'],
  [/\bthe\s+way\s+of\b/i, 'write "how", or name the thing'],
]

const sentences = new Intl.Segmenter('en', { granularity: 'sentence' })

const sentenceLength: TextlintRuleModule = ({ RuleError, report, locator, getSource }) => {
  const check = (node: TxtNode) => {
    // A code span is one word that may start a sentence. The length, and with it every position, stays.
    const text = getSource(node)
      .replaceAll(/`[^`]+`/g, (code) => 'X'.repeat(code.length))
      .replaceAll('\n', ' ')
    for (const { segment, index } of sentences.segment(text)) {
      const words = segment.split(/\s+/).filter((word) => /\w/.test(word)).length
      if (words <= MAX_WORDS) continue
      const message = `${words} words: split the sentence (at most ${MAX_WORDS})`
      report(node, new RuleError(message, { padding: locator.range([index, index + segment.length]) }))
    }
  }
  return { Paragraph: check, TableCell: check }
}

const patterns = WORDS.map(([words, message]) => ({ pattern: String(words), message }))

export const RULES: TextlintKernelRule[] = [
  { ruleId: 'sentence-length', rule: sentenceLength },
  { ruleId: 'words', rule: (context) => pattern.default.linter(context, { patterns }) },
]
