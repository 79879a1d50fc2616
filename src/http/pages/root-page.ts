import { Router } from 'express';
import { html } from './html.js';
import { sendPage } from './html-page.js';

export interface RootPageOptions {
  version: string;
  /** False in a process that has neither API nor enrollment. */
  isServing: boolean;
}

const PLACES = {
  api: '/api/v1',
  docs: '/api/v1/docs',
  openapi: '/api/v1/openapi.json',
  enroll: '/enroll/',
};

const LINKS = html`<section>
<h2>Administrators</h2>
<p>The API is at <a href="${PLACES.api}">${PLACES.api}</a>, its description at
<a href="${PLACES.docs}">${PLACES.docs}</a> and, for generators, at
<a href="${PLACES.openapi}">${PLACES.openapi}</a>. All three need an API token.</p>
</section>
<section>
<h2>Devices</h2>
<p>Enroll a device at <a href="${PLACES.enroll}">${PLACES.enroll}</a>.</p>
</section>`;

/** GET /: the name of this server, and links. */
export function createRootPage({ version, isServing }: RootPageOptions): Router {
  const router = Router();
  const title = `Muster ${version}`;
  const body = html`<h1>${title}</h1>
<p>This server manages Apple devices.</p>
${isServing ? LINKS : html`<p>This process does background work only.</p>`}`;
  router.get('/', (req, res) => {
    res.vary('Accept');
    if (req.accepts(['html', 'json']) !== 'json') {
      sendPage(res, { status: 200, title, body });
      return;
    }
    res.set('Cache-Control', 'no-store');
    const named = { name: 'Muster', version };
    res.json(isServing ? { ...named, ...PLACES } : named);
  });
  router.all('/', (_req, res) => {
    res.status(405).set('Allow', 'GET, HEAD').end();
  });
  return router;
}
