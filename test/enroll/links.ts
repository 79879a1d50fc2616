import { adminApi, type TestApp } from '../helpers/app.js';

export interface MadeLink {
  id: number;
  token: string;
  url: string;
}

/** An enrollment link, made by an admin. */
export async function makeLink(
  app: TestApp,
  { expires_at, ...attributes }: Record<string, unknown> = {},
  relationships?: Record<string, unknown>,
): Promise<MadeLink> {
  const data = {
    type: 'enrollment_links',
    attributes: { name: 'Office', ...attributes },
    relationships,
  };
  const { status, body } = await adminApi(app).post('/enrollment_links', { data });
  if (status !== 201) throw new Error(`no link: ${JSON.stringify(body)}`);
  const { url } = body.data.attributes as { url: string };
  const { id } = body.data;
  // Its time may be over already, which no new link's is.
  if (expires_at !== undefined)
    await app.db.knex('enrollment_links').where({ id }).update({ expires_at });
  return { id, url, token: new URL(url).searchParams.get('token') ?? '' };
}
