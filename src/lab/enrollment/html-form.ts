export interface HtmlInput {
  name: string;
  type: string;
  value: string;
}

export interface HtmlForm {
  method: 'GET' | 'POST';
  /** As written; empty means the address of the page. */
  action: string;
  inputs: HtmlInput[];
}

const ENTITIES: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

function unescapeHtml(text: string): string {
  return text.replaceAll(/&(#x[\da-f]+|#\d+|[a-z]+);/gi, (entity, name: string) => {
    if (!name.startsWith('#')) return ENTITIES[name.toLowerCase()] ?? entity;
    const code = /^#x/i.test(name) ? Number.parseInt(name.slice(2), 16) : Number(name.slice(1));
    return code <= 0x10_ff_ff ? String.fromCodePoint(code) : entity;
  });
}

/** Attributes of one tag, by name in lower case. */
function attributesOf(tag: string): Map<string, string> {
  const found = tag.matchAll(/\s([\w-]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>"']+)))?/g);
  return new Map(
    Array.from(found, ([, name = '', double, single, bare]) => [
      name.toLowerCase(),
      unescapeHtml(double ?? single ?? bare ?? ''),
    ]),
  );
}

function toInput(tag: string): HtmlInput[] {
  const attributes = attributesOf(tag);
  const name = attributes.get('name');
  if (name === undefined) return [];
  const type = (attributes.get('type') ?? 'text').toLowerCase();
  return [{ name, type, value: attributes.get('value') ?? '' }];
}

/** The first form of a page, as far as a sign-in needs it: no scripts, nothing but inputs. */
export function readForm(html: string): HtmlForm | undefined {
  const [, opening = '', content = ''] = /(<form\b[^>]*>)([\s\S]*?)<\/form>/i.exec(html) ?? [];
  if (opening === '') return undefined;
  const attributes = attributesOf(opening);
  const isPost = attributes.get('method')?.toLowerCase() === 'post';
  const inputs = (content.match(/<(?:input|button)\b[^>]*>/gi) ?? []).flatMap(toInput);
  return { method: isPost ? 'POST' : 'GET', action: attributes.get('action') ?? '', inputs };
}
