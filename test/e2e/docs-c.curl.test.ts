import { removeTemporaryDirectories } from '../helpers/temporary-directory.js';
import { describeWalkThroughs, WALK_THROUGHS } from './walk-throughs.js';

afterAll(removeTemporaryDirectories);

describeWalkThroughs(
  'the walk-throughs in docs/, c',
  WALK_THROUGHS.filter(({ page }) => page >= 'docs/c' && page < 'docs/d'),
);
