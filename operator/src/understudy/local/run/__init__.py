"""`understudy run`: processes are started, hurt and replaced until the job is over."""
