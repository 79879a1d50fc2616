/** Text that is HTML, so that it is not escaped. */
export class Html {
  constructor(readonly text: string) {}
}

type HtmlValue = string | number | Html | readonly Html[] | undefined;

const ENTITIES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escapeText(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '');
}

function textOf(value: HtmlValue): string {
  if (value === undefined) return '';
  if (value instanceof Html) return value.text;
  return typeof value === 'object' ? value.map(textOf).join('') : escapeText(String(value));
}

/**
 * A template whose values are escaped, for text and for quoted attributes. Html values are inserted
 * unchanged, undefined as nothing.
 */
export function html(parts: TemplateStringsArray, ...values: HtmlValue[]): Html {
  const filled = parts.map((part, index) => part + textOf(values[index]));
  return new Html(filled.join(''));
}
