import { type Attribute, text, timestamp } from '../../jsonapi/definition/attributes.js';
import { defineResource } from '../../jsonapi/definition/definition.js';
import type { SingletonDefinition } from '../../jsonapi/operations/singleton.js';
import { adminSettings } from '../common.js';

const REVERSE_DNS =
  /^[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)+$/;
const REVERSE_DNS_LIKE = 'a domain name in reverse, such as com.example.mdm';

/**
 * Pages and devices show it, so it must not move or reverse the text around it. Written out,
 * since JSON Schema does not recommend `\p{Cc}` in regular expressions.
 */
const SHOWN = '[^\\u0000-\\u001f\\u007f-\\u009f\\u202a-\\u202e\\u2066-\\u2069]';
const PLAIN = new RegExp(`^${SHOWN}*$`);
const PLAIN_LIKE = 'text without control characters and marks that change its direction';

function upperCase(attribute: Attribute): Attribute {
  const upper = (given: unknown) => (typeof given === 'string' ? given.toUpperCase() : given);
  return { ...attribute, schema: attribute.schema.transform(upper) };
}

/** The organization that the devices belong to: named in every profile that is made here. */
export const organization: SingletonDefinition = defineResource({
  type: 'organizations',
  path: '/configuration/organization',
  table: 'organizations',
  access: adminSettings,
  attributes: {
    name: text({ required: true, min: 1, max: 255, pattern: PLAIN, like: PLAIN_LIKE }),
    /** Begins the identifier of every payload that is made here. */
    payload_prefix: text({
      required: true,
      max: 200,
      pattern: REVERSE_DNS,
      like: REVERSE_DNS_LIKE,
    }),
    x509_ou: text({ min: 1, max: 32 }),
    x509_o: text({ min: 1, max: 64 }),
    x509_st: text({ min: 1, max: 128 }),
    x509_c: upperCase(text({ pattern: /^[A-Za-z]{2}$/, like: '2 letters' })),
    updated_at: timestamp({ write: 'never' }),
  },
  relationships: {},
});
