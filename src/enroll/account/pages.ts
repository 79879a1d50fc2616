import { createHash } from 'node:crypto';
import type { RequestHandler } from 'express';

const STYLE =
  ':root{color-scheme:light dark}' +
  'body{font:17px/1.5 -apple-system,system-ui,sans-serif;max-width:24rem;margin:3rem auto;' +
  'padding:0 1.25rem}' +
  'h1{font-size:1.5rem;line-height:1.25}' +
  'label{display:block;margin-top:1rem}' +
  'input,button{font:inherit;box-sizing:border-box;width:100%;padding:.6rem .75rem;' +
  'border:1px solid #8888;border-radius:.6rem}' +
  'button{margin-top:1.5rem;border:0;background:#0063ce;color:#fff;font-weight:600}' +
  '.problem{border-left:4px solid #d70015;padding-left:.75rem}';

/** A browser follows the answer to a form only where this lets it: to the device's sign-in, too. */
const POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
  "form-action 'self' apple-remotemanagement-user-login:",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join(';');

export const HTML = 'text/html; charset=utf-8';

/** Pages with a form for a password: nothing foreign in them, and nobody keeps them. */
export const pageHeaders: RequestHandler = (_req, res, next) => {
  res.setHeader('Content-Security-Policy', POLICY);
  res.setHeader('Cache-Control', 'no-store');
  next();
};

const ENTITIES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** For text and for attributes in quotes. */
function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '');
}

function page(title: string, body: string): string {
  return (
    '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n' +
    '<meta name="viewport" content="width=device-width, initial-scale=1">\n' +
    `<title>${escapeHtml(title)}</title>\n<style>${STYLE}</style>\n</head>\n` +
    `<body>\n<main>\n${body}\n</main>\n</body>\n</html>\n`
  );
}

export interface SignInForm {
  organization: string;
  /** What stands in the first field. */
  account: string;
  csrf: string;
  problem?: string | undefined;
}

/** It posts to where it comes from, with fields `account`, `password` and `csrf`. */
export function signInPage({ organization, account, csrf, problem }: SignInForm): string {
  const told = problem === undefined ? [] : [problemText(problem)];
  // On to what is left to be filled in.
  const [atAccount, atPassword] = account === '' ? [' autofocus', ''] : ['', ' autofocus'];
  return page(
    `Sign in - ${organization}`,
    [
      `<h1>Sign in to ${escapeHtml(organization)}</h1>`,
      '<p>This device will be managed by your organization.</p>',
      ...told,
      '<form method="post" action="login" autocomplete="on">',
      `<input type="hidden" name="csrf" value="${escapeHtml(csrf)}">`,
      '<label for="account">Account</label>',
      `<input id="account" name="account" type="email" value="${escapeHtml(account)}" required` +
        ` autocomplete="username" autocapitalize="none" spellcheck="false"${atAccount}>`,
      '<label for="password">Password</label>',
      '<input id="password" name="password" type="password" required' +
        ` autocomplete="current-password"${atPassword}>`,
      '<button type="submit">Sign in</button>',
      '</form>',
    ].join('\n'),
  );
}

function problemText(problem: string): string {
  return `<p class="problem" role="alert">${escapeHtml(problem)}</p>`;
}

/** What keeps someone from signing in. */
export function problemPage(problem: string): string {
  const text = problem.charAt(0).toUpperCase() + problem.slice(1);
  return page('Sign-in failed', `<h1>You are not signed in</h1>\n${problemText(`${text}.`)}`);
}
