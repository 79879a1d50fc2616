import { createRootRoute } from '@tanstack/react-router';
import { Frame } from './frame';
import { NotFound } from './not-found';

export const root = createRootRoute({ component: Frame, notFoundComponent: NotFound });
