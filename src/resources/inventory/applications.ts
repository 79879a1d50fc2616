import { z } from 'zod';
import {
  bigInteger,
  bool,
  each,
  integer,
  oneOf,
  prose,
  text,
  textList,
  timestamp,
  url,
  version,
} from '../../jsonapi/definition/attributes.js';
import { defineResource } from '../../jsonapi/definition/definition.js';
import { operatorWrites } from '../common.js';

const KINDS = [
  'applications',
  'enterprise_mac',
  'enterprise_ios',
  'appstore_mac',
  'appstore_ios',
] as const;

/** What Apple's manifest (ManifestURL) needs beside the bundle's name. */
const manifest = {
  manifest_url: url(),
  manifest_bundle_version: version(),
  ...each(text(), ['manifest_title', 'manifest_subtitle']),
  manifest_kind: text({ nullable: false, min: 1, max: 100 }),
  ...each(url(), [
    'manifest_package_url',
    'manifest_full_size_image_url',
    'manifest_display_image_url',
  ]),
  ...each(bool(), ['manifest_full_size_image_needs_shine', 'manifest_display_image_needs_shine']),
  ...each(bigInteger({ min: 0 }), ['manifest_size_in_bytes', 'manifest_checksum_chunk_size']),
  manifest_checksum_type: oneOf(['md5', 'sha256']),
  /** One digest for each chunk of the package, in its order. */
  manifest_checksums: textList({
    max: 10_000,
    item: z
      .string()
      .regex(/^([0-9a-fA-F]{32}|[0-9a-fA-F]{64})$/, 'must be 32 or 64 hexadecimal digits'),
  }),
};

export const applications = defineResource({
  type: 'applications',
  path: '/applications',
  table: 'applications',
  access: operatorWrites,
  attributes: {
    discriminator: oneOf(KINDS, { nullable: false }),
    display_name: text({ required: true, min: 1, max: 1000 }),
    bundle_id: text({ required: true, min: 1, max: 255 }),
    ...each(prose(), ['description', 'release_notes']),
    ...each(version(), ['version', 'minimum_os_version']),
    itunes_store_id: bigInteger({ min: 0 }),
    purchase_method: integer({ min: 0, max: 1 }),
    management_flags: integer({ min: 0, max: 7 }),
    change_management_state: text({ max: 100 }),
    country: text({ pattern: /^[A-Za-z]{2}$/, like: '2 letters' }),
    artist_id: bigInteger({ min: 0 }),
    artist_name: text(),
    ...each(url(), ['artist_view_url', 'artwork_url60', 'artwork_url100', 'artwork_url512']),
    release_date: timestamp(),
    file_size_bytes: bigInteger({ min: 0 }),
    ...manifest,
    created_at: timestamp({ write: 'never' }),
  },
  defaults: {
    discriminator: 'applications',
    change_management_state: 'Managed',
    manifest_kind: 'software',
  },
  relationships: {
    tags: {
      kind: 'toMany',
      type: 'tags',
      via: { table: 'application_tags', own: 'application_id', other: 'tag_id' },
      write: 'document',
    },
  },
});
