import type { Order } from './queries';

/** How a batch is sent, as it stands in the fields. */
export interface Options {
  name: string;
  priority: string;
  after: string;
  expires: string;
  ttl: string;
  /** Minutes. */
  spread: string;
}

export const NO_OPTIONS: Options = {
  name: '',
  priority: '',
  after: '',
  expires: '',
  ttl: '',
  spread: '',
};

export type OptionAttributes = Pick<
  Order,
  'name' | 'priority' | 'after' | 'expires_at' | 'ttl' | 'spread'
>;

/** The attributes of those that are set. What is no number goes as it is: the server says so. */
export function optionAttributes(options: Options): OptionAttributes {
  const { name, priority, after, expires, ttl, spread } = options;
  return {
    ...(name.trim() !== '' && { name: name.trim() }),
    ...(priority !== '' && { priority: Number(priority) }),
    ...(after !== '' && { after: new Date(after).toISOString() }),
    ...(expires !== '' && { expires_at: new Date(expires).toISOString() }),
    ...(ttl !== '' && { ttl: Number(ttl) }),
    ...(spread !== '' && { spread: Math.round(Number(spread) * 60) }),
  };
}
