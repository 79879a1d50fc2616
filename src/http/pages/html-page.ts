import { createHash } from 'node:crypto';
import type { Response } from 'express';
import { Html, html } from './html.js';

export interface HtmlPage {
  status: number;
  title: string;
  body: Html;
  /** Targets of its form and their redirects, as in Content-Security-Policy; none by default. */
  formAction?: string | undefined;
}

const STYLE = `
:root { color-scheme: light dark; --line: #d2d2d7; --quiet: #5f5f66; --accent: #0060c0;
  --on-accent: #fff; --card: #f5f5f7 }
@media (prefers-color-scheme: dark) { :root { --line: #48484c; --quiet: #b0b0b6;
  --accent: #62adff; --on-accent: #00142b; --card: #1f1f22 } }
* { box-sizing: border-box }
body { margin: 0; font: 1.0625rem/1.5 -apple-system, system-ui, sans-serif }
main { max-width: 40rem; margin: 0 auto; padding: 1.5rem 1.25rem 3rem; overflow-wrap: anywhere }
h1 { font-size: 1.625rem; line-height: 1.25; margin: 1rem 0 }
h2 { font-size: 1.1875rem; margin: 0 0 .5rem }
p { margin: 0 0 .75rem }
section { border: 1px solid var(--line); border-radius: .875rem; background: var(--card);
  padding: 1rem 1.125rem; margin: 1rem 0 }
a { color: var(--accent) }
a.button { display: block; text-align: center; text-decoration: none; font-weight: 600;
  padding: .75rem 1rem; margin: .75rem 0; border-radius: .75rem; background: var(--accent);
  color: var(--on-accent) }
a:focus-visible, summary:focus-visible { outline: 3px solid var(--accent); outline-offset: 3px }
summary { cursor: pointer; padding: .5rem 0; font-weight: 600 }
ol { margin: 0 0 .75rem; padding-left: 1.375rem }
li { margin: .25rem 0 }
.quiet { color: var(--quiet); font-size: .9375rem }
label { display: block; margin-top: 1rem }
input, button { font: inherit; width: 100%; padding: .625rem .75rem; border-radius: .75rem;
  border: 1px solid var(--line) }
button { margin-top: 1.5rem; border: 0; background: var(--accent); color: var(--on-accent);
  font-weight: 600 }
.problem { border-left: 4px solid #d70015; padding-left: .75rem }
`;

const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64');

/** The whole document. */
export function renderPage({ title, body }: Pick<HtmlPage, 'title' | 'body'>): string {
  return documentOf(title, body).text;
}

function documentOf(title: string, body: Html): Html {
  return html`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${title}</title>
<style>${new Html(STYLE)}</style>
</head>
<body>
<main>
${body}
</main>
</body>
</html>
`;
}

/**
 * The headers of a page for people, which loads and runs nothing. Its address may hold a secret: it is
 * neither stored nor sent as a referrer.
 */
export function setPageHeaders(res: Response, formAction = "'none'"): void {
  const policy = [
    "default-src 'none'",
    `style-src 'sha256-${STYLE_HASH}'`,
    "base-uri 'none'",
    `form-action ${formAction}`,
    "frame-ancestors 'none'",
  ];
  res.setHeader('Content-Security-Policy', policy.join('; '));
  res.setHeader('Referrer-Policy', 'no-referrer');
  res.setHeader('Cache-Control', 'no-store');
  res.setHeader('X-Robots-Tag', 'noindex');
}

export function sendPage(res: Response, page: HtmlPage): void {
  setPageHeaders(res, page.formAction);
  res.status(page.status);
  res.setHeader('Content-Type', 'text/html; charset=utf-8');
  const bytes = Buffer.from(renderPage(page));
  res.setHeader('Content-Length', bytes.length);
  res.end(bytes);
}
