import type { Schemas } from '../../../api/client';

type Item = Schemas['device_items_resource'];

/** An item with the name of its profile, which is another resource. */
export type NamedItem = Item & {
  attributes?: Item['attributes'] & { profile_name?: string | undefined };
};

export interface ItemsDocument {
  data?: NamedItem[];
  included?: { id?: unknown; attributes?: { display_name?: string | null } }[];
}

/** Asks for the names beside the items: for the client, and as text. */
export const WITH_NAMES = {
  query: { include: ['profile'], fields: { profiles: 'display_name' } },
  text: 'include=profile&fields[profiles]=display_name',
};

/** Gives each item the name that came beside it. */
export function nameItems({ data = [], included = [] }: ItemsDocument): void {
  const names = new Map(included.map(({ id, attributes }) => [`${id}`, attributes?.display_name]));
  for (const { attributes, relationships } of data) {
    const name = names.get(`${relationships?.profile?.data?.id}`);
    if (attributes !== undefined && name) attributes.profile_name = name;
  }
}
