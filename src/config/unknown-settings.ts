import { distanceOf } from '../errors.js';

/** A variable that is probably meant for Muster, which has none of this name. */
export interface UnknownSetting {
  readonly name: string;
  /** The setting that it may be a misspelling of. */
  readonly nearest: string | undefined;
}

/** Variables that docker-compose.yml and `muster keys rotate` read. */
const OTHERS = ['POSTGRES_PASSWORD', 'MUSTER_BIND', 'NEW_MASTER_KEY'];
const MAX_ERRORS = 3;
/** Shorter names of other programs differ as little: DB_HOST from DEP_HOST. */
const LONG_NAME = 10;

interface Variables {
  settings: readonly string[];
  /** Names in the `.env`. */
  dotEnv: readonly string[];
  /** Names in the environment. */
  environment: readonly string[];
}

/** All unknown names in the `.env`, and those in the environment that look like a setting. */
export function unknownSettings({ settings, dotEnv, environment }: Variables): UnknownSetting[] {
  const known = new Set([...settings, ...OTHERS]);
  const own = new Set(dotEnv.filter((name) => !known.has(name)));
  const similar = environment.filter(
    (name) =>
      name.includes('_') && !known.has(name) && !own.has(name) && isMisspelt(name, settings),
  );
  return [...own, ...similar].sort().map((name) => {
    return { name, nearest: nearestOf(name, settings, MAX_ERRORS) };
  });
}

/** Stricter than for the `.env`: the environment has variables of other programs (CLIENT_ID is not OIDC_CLIENT_ID). */
function isMisspelt(name: string, settings: readonly string[]): boolean {
  const nearest = nearestOf(name, settings, name.length < LONG_NAME ? 1 : 2);
  return nearest !== undefined && (!nearest.includes(name) || nearest.length - name.length === 1);
}

function nearestOf(name: string, settings: readonly string[], most: number): string | undefined {
  const rated = settings.map((setting) => ({ setting, distance: distanceOf(name, setting) }));
  const [best] = rated.sort((one, other) => one.distance - other.distance);
  return best !== undefined && best.distance <= most ? best.setting : undefined;
}
