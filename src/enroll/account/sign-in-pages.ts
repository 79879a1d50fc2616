import type { RequestHandler, Response } from 'express';
import { type Html, html } from '../../http/pages/html.js';
import { renderPage, setPageHeaders } from '../../http/pages/html-page.js';
import { requireAccountAllowed } from './admission.js';
import type { AccountServices } from './services.js';

/** Content-Security-Policy: the answer to the form may redirect to the device's own scheme. */
export const FORM_ACTION = "'self' apple-remotemanagement-user-login:";

export const pageHeaders: RequestHandler = (_req, res, next) => {
  setPageHeaders(res, FORM_ACTION);
  next();
};

export interface SignInForm {
  organization: string;
  /** Value of the first field. */
  account: string;
  csrf: string;
  problem?: string | undefined;
}

/** Posts the fields `account`, `password` and `csrf` to `login`. */
export function signInForm({ organization, account, csrf, problem }: SignInForm): Html {
  const message = problem === undefined ? undefined : problemText(problem);
  // Focus the first empty field.
  const [atAccount, atPassword] =
    account === '' ? [html` autofocus`] : [undefined, html` autofocus`];
  return html`<h1>Sign in to ${organization}</h1>
<p>This device will be managed by your organization.</p>
${message}
<form method="post" action="login" autocomplete="on">
<input type="hidden" name="csrf" value="${csrf}">
<label for="account">Account</label>
<input id="account" name="account" type="email" value="${account}" required autocomplete="username"
 autocapitalize="none" spellcheck="false"${atAccount}>
<label for="password">Password</label>
<input id="password" name="password" type="password" required
 autocomplete="current-password"${atPassword}>
<button type="submit">Sign in</button>
</form>`;
}

/** The page of a failed sign-in. */
export function problemPage(problem: string): string {
  const text = `${problem.charAt(0).toUpperCase()}${problem.slice(1)}.`;
  const body = html`<h1>You are not signed in</h1>
${problemText(text)}`;
  return renderPage({ title: 'Sign-in failed', body });
}

/** Redirects the device with a token for the signed-in account. AppError 403 if it may not enroll. */
export async function finishSignIn(
  res: Response,
  account: string,
  services: AccountServices,
): Promise<void> {
  const mode = await requireAccountAllowed(services, account);
  const token = services.tokens.issue({ account, mode });
  services.logger.info({ account, mode }, 'a user has signed in to enroll a device');
  services.sessions.end(res);
  // Apple requires 308; `no-store` keeps browsers from caching it.
  res.status(308).setHeader('Cache-Control', 'no-store');
  res.setHeader(
    'Location',
    `apple-remotemanagement-user-login://authentication-results?access-token=${token}`,
  );
  res.end();
}

function problemText(problem: string): Html {
  return html`<p class="problem" role="alert">${problem}</p>`;
}
